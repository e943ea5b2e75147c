//! Giving a run its seat: at its insertion, or once what it waited for is free.
//!
//! **Invariant:** the code decides under the seat's lock, and the unique indexes decide in the end:
//! where they refuse, the transaction is done again on what is true by then.

use model::{
    AutomationId, InputId, RunId, SeatId, SessionId, TenantId, Timestamp, TriggerId,
    lifecycle::{Lifecycle, Refused},
    run::{Origin, RunStatus},
    session::{Admission, SessionState},
};
use serde_json::json;

use crate::{Error, database::Tx, journal, store::Store};

/// An attempt to be inserted.
pub(crate) struct Attempt<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) input: InputId,
    pub(crate) number: i64,
    pub(crate) failures: i64,
    pub(crate) origin: Origin,
    pub(crate) session: SessionId,
    pub(crate) seat: SeatId,
    pub(crate) automation: Option<AutomationId>,
    pub(crate) trigger: Option<TriggerId>,
    pub(crate) scheduled_for: Option<Timestamp>,
    /// Whether it may not run beside another run of its automation.
    pub(crate) exclusive: bool,
    pub(crate) content: &'a str,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) interrupted: Option<RunId>,
    pub(crate) input_at: Timestamp,
}

/// How a seat stands.
pub(crate) struct SeatStanding {
    /// Whether a run holds it.
    pub(crate) held: bool,
    /// Whether a run waits for it, attempts in their backoff left out.
    pub(crate) waited_for: bool,
    /// The state of its session.
    pub(crate) state: SessionState,
}

/// Locks a seat and says how it stands; `None` where there is no such seat any more.
pub(crate) async fn lock_seat(
    tx: &mut Tx,
    seat: SeatId,
    now: Timestamp,
) -> Result<Option<SeatStanding>, Error> {
    let locked = tx
        .fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
        .await?;
    if locked.is_none() {
        return Ok(None);
    }
    let row = tx
        .fetch_one(sql!("seats/standing"), params![seat, now])
        .await?;
    Ok(Some(SeatStanding {
        held: row.get("held")?,
        waited_for: row.get("waited_for")?,
        state: row.parse("state")?,
    }))
}

/// An automation's own runs, by where they are.
pub(crate) struct OwnRuns {
    /// Those that are executed.
    pub(crate) executing: i64,
    /// Those that wait, queued or deferred.
    pub(crate) waiting: i64,
    /// Those that hold a seat and exclude each other: one at the most.
    pub(crate) holding: i64,
}

impl OwnRuns {
    pub(crate) async fn count(tx: &mut Tx, automation: AutomationId) -> Result<Self, Error> {
        let row = tx
            .fetch_one(sql!("automations/standing"), params![automation])
            .await?;
        Ok(Self {
            executing: row.get("executing")?,
            waiting: row.get("waiting")?,
            holding: row.get("holding")?,
        })
    }
}

/// Inserts an attempt: queued if nothing holds it back, else deferred. A closed session refuses it.
pub(crate) async fn insert(
    store: &Store,
    tx: &mut Tx,
    attempt: &Attempt<'_>,
    now: Timestamp,
) -> Result<(RunId, RunStatus), Error> {
    let seat = lock_seat(tx, attempt.seat, now)
        .await?
        .ok_or_else(|| Error::not_found("seat", attempt.seat))?;
    let admission = seat.state.admission();
    if admission == Admission::Refuse {
        return Err(Error::Refused(Refused {
            what: SessionState::WHAT,
            state: seat.state.to_string(),
            event: "take an input".into(),
        }));
    }
    let free = !seat.held && admission == Admission::Start;
    let behind_own = match attempt.automation {
        Some(automation) if free && attempt.exclusive => {
            OwnRuns::count(tx, automation).await?.holding > 0
        }
        _ => false,
    };
    let in_backoff = attempt.not_before.is_some_and(|at| at > now);
    let status = if free && !seat.waited_for && !behind_own && !in_backoff {
        RunStatus::Queued
    } else {
        RunStatus::Deferred
    };
    let id = RunId::generate(now, store.ids());
    tx.execute(
        sql!("runs/insert"),
        params![
            id,
            attempt.tenant,
            attempt.input,
            attempt.number,
            attempt.failures,
            status.as_str(),
            attempt.origin.as_str(),
            attempt.origin.priority(),
            attempt.session,
            attempt.seat,
            attempt.automation,
            attempt.trigger,
            attempt.scheduled_for,
            attempt.exclusive,
            attempt.content,
            attempt.not_before,
            attempt.interrupted,
            attempt.input_at,
            now
        ],
    )
    .await?;
    let body = json!({
        "status": status,
        "origin": attempt.origin,
        "attempt": attempt.number,
        "automation_id": attempt.automation,
        "scheduled_for": attempt.scheduled_for,
        "not_before": attempt.not_before,
    });
    journal::run_event(tx, attempt.session, id, body, now).await?;
    if free && seat.waited_for {
        // A backoff is over that no sweep has seen yet; whoever is next has the seat at once.
        let next = promote_on_seat(tx, attempt.seat, now).await?;
        if next.is_some_and(|(next, _)| next == id) {
            return Ok((id, RunStatus::Queued));
        }
    }
    Ok((id, status))
}

/// Lets the next waiting input of a free seat have it. Gives the run, and whether it had waited for
/// a backoff.
pub(crate) async fn promote_on_seat(
    tx: &mut Tx,
    seat: SeatId,
    now: Timestamp,
) -> Result<Option<(RunId, bool)>, Error> {
    let Some(locked) = tx
        .fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
        .await?
    else {
        return Ok(None);
    };
    let session: SessionId = locked.get("session_id")?;
    let next = tx
        .fetch_optional(sql!("runs/next_waiting_on_seat"), params![seat, now])
        .await?;
    let Some(next) = next else { return Ok(None) };
    let run: RunId = next.get("id")?;
    let backoff: Option<Timestamp> = next.optional("not_before")?;
    if tx.execute(sql!("runs/promote"), params![run]).await? == 0 {
        return Ok(None);
    }
    let body = json!({ "status": RunStatus::Queued });
    journal::run_event(tx, session, run, body, now).await?;
    Ok(Some((run, backoff.is_some())))
}

/// Lets what waited for a run start that has left its seat: on that seat, and, where the automation's
/// runs exclude each other, on another one.
pub(crate) async fn promote_after(
    tx: &mut Tx,
    seat: SeatId,
    automation: Option<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    promote_on_seat(tx, seat, now).await?;
    match automation {
        Some(automation) => promote_own(tx, automation, now).await,
        None => Ok(()),
    }
}

/// Lets the next waiting one of an automation's runs start that exclude each other.
pub(crate) async fn promote_own(
    tx: &mut Tx,
    automation: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    // The seat may go to somebody else whose backoff has just ended. The automation's turn is then on
    // another seat, if there is one.
    loop {
        let next = tx
            .fetch_optional(
                sql!("runs/next_waiting_of_automation"),
                params![automation, now],
            )
            .await?;
        let Some(next) = next else { return Ok(()) };
        let promoted = promote_on_seat(tx, next.get("seat_id")?, now).await?;
        if promoted.is_none() {
            return Ok(());
        }
    }
}

/// Puts a run that has not begun back to wait, because its session is held. Another one of an
/// automation whose runs exclude each other may start instead.
pub(crate) async fn hold(
    tx: &mut Tx,
    session: SessionId,
    run: RunId,
    automation: Option<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    if tx.execute(sql!("runs/hold"), params![run]).await? == 0 {
        return Ok(());
    }
    // It may have been claimed meanwhile.
    tx.execute(sql!("heartbeats/delete"), params![run]).await?;
    let body = json!({ "status": RunStatus::Deferred });
    journal::run_event(tx, session, run, body, now).await?;
    match automation {
        Some(automation) => promote_own(tx, automation, now).await,
        None => Ok(()),
    }
}
