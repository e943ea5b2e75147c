//! The assignment of seats to runs: at the insertion of a run, or when the run that it waited for has ended.
//!
//! **Invariant:** a seat has at most one run that is `queued`, `delivered` or `running`. The code decides under the
//! lock of the seat. If a unique index refuses the result, the transaction runs again and reads the rows anew.

use std::collections::{BTreeSet, HashMap, HashSet};

use model::{
    AutomationId, InputId, RunId, SeatId, SessionId, TenantId, Timestamp, TriggerId,
    entity::RunTask,
    event::{DeferCause, RunChange, RunInput},
    goal::Prompt,
    lifecycle::{InvalidTransition, Lifecycle},
    run::{Origin, RunStatus},
    session::{Admission, SessionStatus},
};

use crate::{
    Error,
    database::{Param, Tx},
    locks::lock_seats,
    session_log::SessionLogWriter,
    store::Store,
};

/// An attempt that a transition inserts.
pub(crate) struct NewAttempt<'a> {
    /// The reserved ID. `None` generates one.
    pub(crate) id: Option<RunId>,
    pub(crate) tenant: TenantId,
    pub(crate) input: InputId,
    pub(crate) number: i64,
    pub(crate) failures: i64,
    pub(crate) origin: Origin,
    pub(crate) session: SessionId,
    pub(crate) seat: SeatId,
    pub(crate) automation: Option<AutomationId>,
    pub(crate) trigger: Option<TriggerId>,
    pub(crate) task: Option<RunTask>,
    pub(crate) scheduled_for: Option<Timestamp>,
    /// `true` if the attempt must not run at the same time as another exclusive run of its automation, because the
    /// overlap policy of the automation is not `allow`.
    pub(crate) exclusive: bool,
    pub(crate) content: &'a str,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) interrupted: Option<RunId>,
    pub(crate) input_at: Timestamp,
}

impl NewAttempt<'_> {
    /// Returns the rank among waiting inputs. The answer to a question of an automation's turn ranks as its occurrences do.
    const fn priority(&self) -> i64 {
        match (self.origin, self.automation) {
            (Origin::Person, Some(_)) => Origin::Occurrence.priority(),
            (origin, _) => origin.priority(),
        }
    }
}

/// The status of a seat.
pub(crate) struct SeatStatus {
    /// `true` if a run holds the seat.
    pub(crate) is_occupied: bool,
    /// `true` if a run waits for the seat. A run in its backoff does not count.
    pub(crate) has_waiting_run: bool,
    /// The status of its session.
    pub(crate) session_status: SessionStatus,
}

impl SeatStatus {
    /// The status of a seat in the transaction that creates it.
    pub(crate) const NEW: Self = Self {
        is_occupied: false,
        has_waiting_run: false,
        session_status: SessionStatus::Active,
    };
}

/// Reads the status of each seat. The caller must hold the locks of the seats.
pub(crate) async fn read_seat_statuses(
    tx: &mut Tx,
    seats: &BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<HashMap<SeatId, SeatStatus>, Error> {
    let rows = seats.iter().map(|seat| params![*seat]).collect();
    let status_rows = tx
        .fetch_rows(sql!("seats/status"), rows, params![now])
        .await?;
    let mut found = HashMap::with_capacity(status_rows.len());
    for row in &status_rows {
        let status = SeatStatus {
            is_occupied: row.get("is_occupied")?,
            has_waiting_run: row.get("has_waiting_run")?,
            session_status: row.parse("state")?,
        };
        found.insert(row.get("id")?, status);
    }
    Ok(found)
}

/// The open runs of one automation, counted by status.
#[derive(Clone, Copy, Default)]
pub(crate) struct SiblingRuns {
    /// The number of `delivered` and `running` runs.
    pub(crate) executing: i64,
    /// The number of `queued` and `deferred` runs.
    pub(crate) pending: i64,
    /// The number of exclusive runs that hold a seat: at most one.
    pub(crate) exclusive_active: i64,
}

impl SiblingRuns {
    pub(crate) async fn count(
        tx: &mut Tx,
        automations: &BTreeSet<AutomationId>,
    ) -> Result<HashMap<AutomationId, Self>, Error> {
        let rows = automations.iter().map(|id| params![*id]).collect();
        let count_rows = tx
            .fetch_rows(sql!("automations/count_open_runs"), rows, params![])
            .await?;
        let mut found = HashMap::with_capacity(count_rows.len());
        for row in &count_rows {
            let open_runs = Self {
                executing: row.get("executing")?,
                pending: row.get("pending")?,
                exclusive_active: row.get("exclusive_active")?,
            };
            found.insert(row.get("id")?, open_runs);
        }
        Ok(found)
    }
}

/// The statuses of seats and the counts of automations that a transaction has read already. The transaction must hold
/// the locks of these seats and automations.
#[derive(Default)]
pub(crate) struct Preloaded {
    pub(crate) seats: HashMap<SeatId, SeatStatus>,
    pub(crate) siblings: HashMap<AutomationId, SiblingRuns>,
}

/// Inserts one attempt, as [`insert_attempts`] does.
pub(crate) async fn insert_attempt(
    store: &Store,
    tx: &mut Tx,
    attempt: &NewAttempt<'_>,
    now: Timestamp,
) -> Result<(RunId, RunStatus), Error> {
    let mut log = SessionLogWriter::default();
    let attempts = std::slice::from_ref(attempt);
    let inserted =
        insert_attempts(store, tx, &mut log, attempts, Preloaded::default(), now).await?;
    let inserted = inserted
        .into_iter()
        .next()
        .unwrap_or_else(|| Err(Error::not_found("seat", attempt.seat)))?;
    log.write(tx, now).await?;
    Ok(inserted)
}

/// Inserts attempts in their order. An attempt is `queued` if its seat is free and nothing else delays it, else
/// `deferred`. Returns one result for each attempt: an error if the session is closed or the seat does not exist.
pub(crate) async fn insert_attempts(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    attempts: &[NewAttempt<'_>],
    preloaded: Preloaded,
    now: Timestamp,
) -> Result<Vec<Result<(RunId, RunStatus), Error>>, Error> {
    // 1. Lock the seats and read the statuses that the caller has not read.
    let Preloaded {
        mut seats,
        mut siblings,
    } = preloaded;
    let unread = attempts.iter().map(|attempt| attempt.seat);
    let unread: BTreeSet<SeatId> = unread.filter(|seat| !seats.contains_key(seat)).collect();
    lock_seats(tx, &unread).await?;
    seats.extend(read_seat_statuses(tx, &unread, now).await?);
    let exclusive = attempts.iter().filter(|attempt| attempt.exclusive);
    let uncounted = exclusive.filter_map(|attempt| attempt.automation);
    let uncounted: BTreeSet<AutomationId> =
        uncounted.filter(|id| !siblings.contains_key(id)).collect();
    siblings.extend(SiblingRuns::count(tx, &uncounted).await?);

    // 2. Decide about each attempt, and update the statuses for the attempts after it.
    let mut results = Vec::with_capacity(attempts.len());
    let mut rows = Vec::with_capacity(attempts.len());
    let mut seats_to_promote = BTreeSet::new();
    for attempt in attempts {
        let Some(seat) = seats.get_mut(&attempt.seat) else {
            results.push(Err(Error::not_found("seat", attempt.seat)));
            continue;
        };
        let admission = seat.session_status.admission();
        if admission == Admission::Refuse {
            results.push(Err(Error::Refused(InvalidTransition {
                what: SessionStatus::WHAT,
                object: None,
                state: seat.session_status.to_string(),
                event: "accept an input".into(),
            })));
            continue;
        }
        let is_free = !seat.is_occupied && admission == Admission::Start;
        let mut sibling_runs = attempt
            .automation
            .filter(|_| attempt.exclusive)
            .and_then(|automation| siblings.get_mut(&automation));
        let sibling_is_active = sibling_runs
            .as_ref()
            .is_some_and(|runs| runs.exclusive_active > 0);
        let in_backoff = attempt.not_before.is_some_and(|at| at > now);
        let status = if is_free && !seat.has_waiting_run && !sibling_is_active && !in_backoff {
            seat.is_occupied = true;
            if let Some(runs) = &mut sibling_runs {
                runs.exclusive_active += 1;
            }
            RunStatus::Queued
        } else {
            if is_free && seat.has_waiting_run {
                // The backoff of a waiting run has ended, and no sweep has promoted that run yet. Promote below, so
                // that the free seat does not wait for the sweep.
                seats_to_promote.insert(attempt.seat);
            }
            seat.has_waiting_run |= !in_backoff;
            RunStatus::Deferred
        };
        let new = || RunId::generate(now, store.ids());
        let id = attempt.id.unwrap_or_else(new);
        rows.push(insert_params(id, status, attempt, now));
        let input = RunInput {
            origin: attempt.origin,
            attempt: attempt.number,
            automation_id: attempt.automation,
            scheduled_for: attempt.scheduled_for,
            not_before: attempt.not_before,
        };
        let change = if status == RunStatus::Queued {
            RunChange::Queued { input: Some(input) }
        } else {
            let cause = DeferCause::Created(input);
            RunChange::Deferred { cause }
        };
        log.add_run_change(attempt.session, id, change);
        results.push(Ok((id, status)));
    }
    // 3. Write. The promotion may choose one of the attempts that were just inserted.
    tx.execute_rows(sql!("runs/insert"), rows, params![])
        .await?;
    lend_priority(tx, attempts, &results).await?;
    for promoted in promote(tx, log, seats_to_promote, now).await? {
        for run in results.iter_mut().flatten() {
            if run.0 == promoted.run {
                run.1 = RunStatus::Queued;
            }
        }
    }
    Ok(results)
}

/// Lends the priority of new inputs that wait for their seats to messages of other agents that hold these seats. Otherwise a
/// person would wait for an input that comes after all others.
async fn lend_priority(
    tx: &mut Tx,
    attempts: &[NewAttempt<'_>],
    results: &[Result<(RunId, RunStatus), Error>],
) -> Result<(), Error> {
    let waiting = attempts.iter().zip(results).filter(|(attempt, result)| {
        attempt.origin != Origin::Message
            && attempt.not_before.is_none()
            && matches!(result, Ok((_, RunStatus::Deferred)))
    });
    let rows = waiting.map(|(attempt, _)| params![attempt.seat, attempt.priority()]);
    tx.execute_rows(sql!("runs/lend_priority"), rows.collect(), params![])
        .await?;
    Ok(())
}

/// Returns the parameters of `runs/insert`.
fn insert_params(
    id: RunId,
    status: RunStatus,
    attempt: &NewAttempt<'_>,
    now: Timestamp,
) -> Vec<Param> {
    params! { "runs/insert";
        id: id,
        tenant: attempt.tenant,
        input: attempt.input,
        attempt: attempt.number,
        failures: attempt.failures,
        status: status.as_str(),
        origin: attempt.origin.as_str(),
        priority: attempt.priority(),
        session: attempt.session,
        seat: attempt.seat,
        automation: attempt.automation,
        trigger: attempt.trigger,
        task: attempt.task.map(|task| task.id),
        prompt: attempt.task.and_then(|task| task.prompt).map(Prompt::as_str),
        review: attempt.task.is_some_and(|task| task.is_review),
        instant: attempt.scheduled_for,
        exclusive: attempt.exclusive,
        content: attempt.content,
        not_before: attempt.not_before,
        interrupted_run: attempt.interrupted,
        input_at: attempt.input_at,
        now: now,
    }
}

/// A run that a promotion has queued on its seat.
pub(crate) struct Promoted {
    pub(crate) run: RunId,
    /// `true` if the run had waited for its backoff.
    pub(crate) after_backoff: bool,
}

/// Queues the next waiting run of each free seat.
pub(crate) async fn promote(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    seats: BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<Vec<Promoted>, Error> {
    let mut promoted = Vec::new();
    let mut remaining = seats;
    while !remaining.is_empty() {
        // 1. Lock before the search, so that no other transition can give the seat to another run in between.
        lock_seats(tx, &remaining).await?;
        let rows = remaining.iter().map(|seat| params![*seat]).collect();
        let waiting_rows = tx
            .fetch_rows(sql!("runs/next_waiting_on_seat"), rows, params![now])
            .await?;
        // 2. Choose one run for each seat.
        remaining.clear();
        let mut chosen_automations: HashSet<AutomationId> = HashSet::new();
        let mut chosen = HashMap::with_capacity(waiting_rows.len());
        for row in &waiting_rows {
            let run: RunId = row.get("id")?;
            let exclusive: bool = row.get("exclusive")?;
            let automation: Option<AutomationId> = row.optional("automation_id")?;
            // Promote only one of several exclusive runs of an automation: the unique index refuses a second one.
            // Search the seat of the others again, because a run behind them may start instead.
            if exclusive
                && automation.is_some_and(|automation| !chosen_automations.insert(automation))
            {
                remaining.insert(row.get("seat_id")?);
                continue;
            }
            let backoff: Option<Timestamp> = row.optional("not_before")?;
            chosen.insert(run, (row.get("session_id")?, backoff.is_some()));
        }
        // 3. Write, and log the runs that the statement returns. It omits a run that is no longer `deferred`.
        let rows = chosen.keys().map(|run| params![*run]).collect();
        for row in tx.fetch_rows(sql!("runs/promote"), rows, params![]).await? {
            let run: RunId = row.get("id")?;
            if let Some((session, backoff)) = chosen.get(&run) {
                log.add_run_change(*session, run, RunChange::Queued { input: None });
                promoted.push(Promoted {
                    run,
                    after_backoff: *backoff,
                });
            }
        }
    }
    Ok(promoted)
}

/// Queues the next waiting run of a seat, if the seat is free. Returns the promoted run.
pub(crate) async fn promote_on_seat(
    tx: &mut Tx,
    seat: SeatId,
    now: Timestamp,
) -> Result<Option<Promoted>, Error> {
    let mut log = SessionLogWriter::default();
    let promoted = promote(tx, &mut log, BTreeSet::from([seat]), now).await?;
    log.write(tx, now).await?;
    Ok(promoted.into_iter().next())
}

/// Promotes the runs that waited for runs which have left their seats: on those seats, and on other seats of
/// automations with exclusive runs.
pub(crate) async fn promote_after(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    seats: BTreeSet<SeatId>,
    automations: BTreeSet<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    promote(tx, log, seats, now).await?;
    let rows: Vec<_> = automations.iter().map(|id| params![*id]).collect();
    // The seat may go to a run of another automation whose backoff has just ended. Then a run of this automation may
    // start on another seat. Repeat the search until it promotes no run.
    loop {
        let statement = sql!("runs/next_waiting_of_automation");
        let next = tx.fetch_rows(statement, rows.clone(), params![now]).await?;
        let mut seats = BTreeSet::new();
        for row in &next {
            seats.extend(row.optional::<SeatId>("seat_id")?);
        }
        if promote(tx, log, seats, now).await?.is_empty() {
            return Ok(());
        }
    }
}

/// Promotes the next waiting exclusive run of an automation.
pub(crate) async fn promote_exclusive(
    tx: &mut Tx,
    automation: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    let mut log = SessionLogWriter::default();
    let automations = BTreeSet::from([automation]);
    promote_after(tx, &mut log, BTreeSet::new(), automations, now).await?;
    log.write(tx, now).await
}

/// Defers a run that has not begun, because its session or its goal is paused or a draft. If the run was exclusive, another run
/// of its automation may start instead.
pub(crate) async fn defer_run(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    session: SessionId,
    run: RunId,
    automation: Option<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    let own = Origin::Message.priority();
    if tx.execute(sql!("runs/defer"), params![run, own]).await? == 0 {
        return Ok(());
    }
    // A worker may have claimed the run. Without this, later claims would count its heartbeat as a run in progress of
    // the tenant.
    tx.execute(sql!("heartbeats/delete"), params![run]).await?;
    let cause = DeferCause::SessionPaused;
    log.add_run_change(session, run, RunChange::Deferred { cause });
    let automations = automation.into_iter().collect();
    promote_after(tx, log, BTreeSet::new(), automations, now).await
}
