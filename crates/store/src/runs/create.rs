//! The creation of runs from occurrences: each occurrence becomes a run, or a row with the reason for which it was
//! skipped.
//!
//! **Invariant:** this is the only path on which automations start turns, on schedule, by webhook and on demand, so
//! that the policies of an automation apply to all of them.

use std::collections::{BTreeSet, HashMap, HashSet};

use model::{
    AutomationId, InputId, RunId, SeatId, SessionId, TenantId, Timestamp,
    automation::{AutomationState, OccurrenceContext, OccurrenceDecision, decide_occurrence},
    entity::{Automation, Trigger},
    policy::{Overlap, SessionMode},
    run::{Origin, RunStatus, SkipReason},
    schedule::{MissedRange, QuietHours, Spec},
    session::{SessionKind, SessionType},
    turn::SubmittedRun,
};

use crate::{
    Error,
    automations::{self, skipped::SkippedOccurrences},
    database::Tx,
    locks::lock_seats,
    new_sessions::{self, NewSeat, NewSession},
    runs::{
        admit::{
            NewAttempt, Preloaded, SeatStatus, SiblingRuns, insert_attempts, read_seat_statuses,
        },
        cancel,
    },
    session_log::SessionLogWriter,
    store::Store,
};

/// An instant at which a trigger fires.
#[derive(Clone, Copy)]
pub(super) struct Occurrence<'a> {
    pub(super) trigger: &'a Trigger,
    pub(super) scheduled_for: Timestamp,
    /// The reserved ID of the input. `None` generates one.
    pub(super) input: Option<InputId>,
}

/// Creates the runs and the rows of skipped occurrences, in their order. Returns the results in no particular order.
/// The caller must hold the locks of the automations.
pub(super) async fn create_runs(
    store: &Store,
    tx: &mut Tx,
    automations: &mut HashMap<AutomationId, Automation>,
    occurrences: Vec<Occurrence<'_>>,
    now: Timestamp,
) -> Result<Vec<SubmittedRun>, Error> {
    let mut submitted = Vec::with_capacity(occurrences.len());
    let mut remaining = occurrences;
    while !remaining.is_empty() {
        // Handle one occurrence of each automation at a time: the result of the first affects the decision about the
        // second, and the first run of a continuous automation creates the session of the second.
        let mut seen = HashSet::new();
        let (round, later): (Vec<_>, Vec<_>) = remaining
            .into_iter()
            .partition(|occurrence| seen.insert(occurrence.trigger.automation_id));
        remaining = later;
        submitted.extend(create_round(store, tx, automations, &round, now).await?);
    }
    Ok(submitted)
}

/// Creates the runs and the rows of skipped occurrences, at most one occurrence of each automation.
async fn create_round(
    store: &Store,
    tx: &mut Tx,
    automations: &mut HashMap<AutomationId, Automation>,
    round: &[Occurrence<'_>],
    now: Timestamp,
) -> Result<Vec<SubmittedRun>, Error> {
    // 1. Find the sessions, lock their seats and read the statuses.
    let mut log = SessionLogWriter::default();
    let ids = round
        .iter()
        .map(|occurrence| occurrence.trigger.automation_id);
    let ids: BTreeSet<AutomationId> = ids.collect();
    let targets = TargetSession::find_all(tx, round, automations).await?;
    let seats = targets.values().filter_map(TargetSession::seat).collect();
    lock_seats(tx, &seats).await?;
    let mut preloaded = Preloaded {
        seats: read_seat_statuses(tx, &seats, now).await?,
        siblings: SiblingRuns::count(tx, &ids).await?,
    };

    // 2. Decide about each occurrence.
    let mut skips = Vec::new();
    let mut runs = Vec::with_capacity(round.len());
    for occurrence in round {
        let id = occurrence.trigger.automation_id;
        let (Some(automation), Some(target)) = (automations.get(&id), targets.get(&id)) else {
            continue;
        };
        let siblings = preloaded.siblings.get(&id).copied().unwrap_or_default();
        match decide_run_or_skip(occurrence, automation, target, &preloaded.seats, siblings)? {
            OccurrenceDecision::Skip(reason) => skips.push((*occurrence, reason)),
            OccurrenceDecision::Run { cancel_others, .. } => {
                if cancel_others {
                    let reason = "replaced by a later occurrence";
                    cancel::cancel_runs_of_automation(store, tx, id, reason, now).await?;
                    // The cancellation has changed both statuses. Remove them, so that `insert_attempts` reads them
                    // again.
                    preloaded.siblings.remove(&id);
                    target.seat().and_then(|seat| preloaded.seats.remove(&seat));
                }
                runs.push((*occurrence, target));
            }
        }
    }

    // 3. Create the new sessions.
    let created = create_sessions(store, tx, &mut log, automations, &runs, now).await?;
    for (_, seat) in created.values() {
        preloaded.seats.insert(*seat, SeatStatus::NEW);
    }

    // 4. Insert the runs and the rows of skipped occurrences.
    let mut attempts = Vec::with_capacity(runs.len());
    for (occurrence, target) in &runs {
        let id = occurrence.trigger.automation_id;
        let seat_in_session = match target {
            TargetSession::Seat(session, seat) => Some((*session, *seat)),
            _ => created.get(&id).copied(),
        };
        if let (Some(automation), Some((session, seat))) = (automations.get(&id), seat_in_session) {
            attempts.push(first_attempt(
                store,
                automation,
                *occurrence,
                session,
                seat,
                now,
            ));
        }
    }
    let inserted = insert_attempts(store, tx, &mut log, &attempts, preloaded, now).await?;
    let mut submitted = Vec::with_capacity(round.len());
    for (attempt, inserted) in attempts.iter().zip(inserted) {
        let (run_id, status) = inserted?;
        submitted.push(SubmittedRun {
            run_id,
            seat_id: Some(attempt.seat),
            status,
        });
    }
    submitted.extend(insert_skipped(store, tx, automations, &skips, now).await?);
    log.write(tx, now).await?;
    Ok(submitted)
}

/// Decides whether an occurrence runs or is skipped.
fn decide_run_or_skip(
    occurrence: &Occurrence<'_>,
    automation: &Automation,
    target: &TargetSession,
    seats: &HashMap<SeatId, SeatStatus>,
    siblings: SiblingRuns,
) -> Result<OccurrenceDecision, Error> {
    // Skip a webhook of a paused automation, because its sender does not know of the pause. A person who fires a paused
    // automation does so deliberately.
    let is_paused = automation.state == AutomationState::Paused;
    if is_paused && occurrence.trigger.spec == (Spec::Webhook {}) {
        return Ok(OccurrenceDecision::Skip(SkipReason::Paused));
    }
    let seat = target.seat().and_then(|seat| seats.get(&seat));
    // The session may have been deleted before this transaction locked its seat.
    if matches!(
        (target, seat),
        (TargetSession::Closed, _) | (TargetSession::Seat(..), None)
    ) {
        return Ok(OccurrenceDecision::Skip(SkipReason::SessionClosed));
    }
    let count = |rows: i64| u64::try_from(rows).unwrap_or(0);
    let context = OccurrenceContext {
        active_runs: count(siblings.executing),
        waiting_runs: count(siblings.pending),
        session: seat.map(|seat| seat.session_status),
        seat_taken: seat.is_some_and(|seat| seat.is_occupied || seat.has_waiting_run),
    };
    match decide_occurrence(automation.session_mode, &automation.policies, context) {
        OccurrenceDecision::Run { .. } if in_quiet_hours(automation, occurrence)? => {
            Ok(OccurrenceDecision::Skip(SkipReason::QuietHours))
        }
        decision => Ok(decision),
    }
}

/// Builds the first attempt at an occurrence.
fn first_attempt<'a>(
    store: &Store,
    automation: &'a Automation,
    occurrence: Occurrence<'_>,
    session: SessionId,
    seat: SeatId,
    now: Timestamp,
) -> NewAttempt<'a> {
    let overlap = automation.policies.overlap(automation.session_mode);
    let new = || InputId::generate(now, store.ids());
    NewAttempt {
        id: None,
        tenant: automation.tenant_id,
        input: occurrence.input.unwrap_or_else(new),
        number: 1,
        failures: 0,
        origin: Origin::Occurrence,
        session,
        seat,
        automation: Some(automation.id),
        trigger: Some(occurrence.trigger.id),
        task: None,
        scheduled_for: Some(occurrence.scheduled_for),
        exclusive: overlap != Overlap::Allow,
        content: &automation.prompt,
        not_before: None,
        interrupted: None,
        // Order the queue by the due instant, not by the creation, so that caught-up instants keep their order.
        input_at: occurrence.scheduled_for,
    }
}

/// The session in which an occurrence runs.
enum TargetSession {
    /// The seat of an existing session.
    Seat(SessionId, SeatId),
    /// A session that this transition creates.
    New,
    /// No session: the bound session does not exist.
    Closed,
}

impl TargetSession {
    /// Returns the seat of an existing session.
    fn seat(&self) -> Option<SeatId> {
        match self {
            Self::Seat(_, seat) => Some(*seat),
            Self::New | Self::Closed => None,
        }
    }

    /// Returns the session of each automation in `round`.
    async fn find_all(
        tx: &mut Tx,
        round: &[Occurrence<'_>],
        automations: &HashMap<AutomationId, Automation>,
    ) -> Result<HashMap<AutomationId, Self>, Error> {
        // 1. Find the sessions of bound automations by their keys.
        let ids = round
            .iter()
            .map(|occurrence| occurrence.trigger.automation_id);
        let automations: Vec<&Automation> = ids.filter_map(|id| automations.get(&id)).collect();
        let keys: BTreeSet<(TenantId, &str)> = automations
            .iter()
            .filter_map(|bound| Some((bound.tenant_id, bound.bound_session_key.as_deref()?)))
            .collect();
        let rows = keys.into_iter().map(|(tenant, key)| params![tenant, key]);
        let mut bound: HashMap<(TenantId, String), SessionId> = HashMap::new();
        for row in tx
            .fetch_rows(sql!("sessions/by_keys"), rows.collect(), params![])
            .await?
        {
            let key = (row.get("tenant_id")?, row.get("session_key")?);
            bound.insert(key, row.get("id")?);
        }
        // 2. Find the entry seat of each session.
        let session = |automation: &Automation| match automation.session_mode {
            SessionMode::Fresh => None,
            SessionMode::Continuous => automation.current_session_id,
            SessionMode::Bound => {
                let key = automation.bound_session_key.clone()?;
                bound.get(&(automation.tenant_id, key)).copied()
            }
        };
        let sessions = automations
            .iter()
            .filter_map(|automation| session(automation));
        let sessions: BTreeSet<SessionId> = sessions.collect();
        let rows = sessions.into_iter().map(|id| params![id]).collect();
        let mut entries: HashMap<SessionId, SeatId> = HashMap::new();
        for row in tx.fetch_rows(sql!("seats/entry"), rows, params![]).await? {
            entries.insert(row.get("session_id")?, row.get("id")?);
        }
        // 3. Choose the target. A bound automation gets no new session, because that session would be without the key
        // to which the automation is bound.
        let target = |automation: &Automation| match session(automation) {
            Some(session) => match entries.get(&session) {
                Some(seat) => Self::Seat(session, *seat),
                None => Self::Closed,
            },
            None if automation.session_mode == SessionMode::Bound => Self::Closed,
            None => Self::New,
        };
        Ok(automations
            .iter()
            .map(|automation| (automation.id, target(automation)))
            .collect())
    }
}

/// Returns `true` if the instant of the occurrence falls into the automation's quiet hours, in the trigger's time
/// zone. Quiet hours never apply to a manual trigger, because a person fires it deliberately.
fn in_quiet_hours(automation: &Automation, occurrence: &Occurrence<'_>) -> Result<bool, Error> {
    let quiet_hours = &automation.policies.quiet_hours;
    let trigger = occurrence.trigger;
    if *quiet_hours == QuietHours::default() || trigger.spec == (Spec::Manual {}) {
        return Ok(false);
    }
    let zone = trigger
        .spec
        .zone()
        .map_err(|source| Error::InvalidSchedule {
            trigger: trigger.id,
            source,
        })?;
    Ok(quiet_hours.covers(occurrence.scheduled_for, &zone))
}

/// Creates the sessions of fresh runs, and of the first runs of continuous automations. Returns the session and the
/// seat of each automation.
async fn create_sessions(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    automations: &mut HashMap<AutomationId, Automation>,
    runs: &[(Occurrence<'_>, &TargetSession)],
    now: Timestamp,
) -> Result<HashMap<AutomationId, (SessionId, SeatId)>, Error> {
    let new = runs
        .iter()
        .filter(|(_, target)| matches!(target, TargetSession::New));
    let new: Vec<(AutomationId, TenantId, NewSession)> = new
        .filter_map(|(occurrence, _)| {
            let automation = automations.get(&occurrence.trigger.automation_id)?;
            let new = new_session(store, automation, occurrence.scheduled_for, now);
            Some((automation.id, automation.tenant_id, new))
        })
        .collect();
    let all: Vec<_> = new.iter().map(|(_, tenant, new)| (*tenant, new)).collect();
    // Each session reserves the numbers of two events: its creation and its first run.
    let seats = new_sessions::insert_sessions(store, tx, log, &all, 2, now).await?;
    let mut created = HashMap::with_capacity(new.len());
    let mut current = Vec::new();
    for ((id, _, new), seat) in new.iter().zip(seats) {
        created.insert(*id, (new.id, seat));
        if let Some(automation) = automations.get_mut(id)
            && automation.session_mode == SessionMode::Continuous
        {
            automation.current_session_id = Some(new.id);
            current.push(params![*id, new.id]);
        }
    }
    let statement = sql!("automations/set_current_session");
    tx.execute_rows(statement, current, params![now]).await?;
    Ok(created)
}

fn new_session(
    store: &Store,
    automation: &Automation,
    scheduled_for: Timestamp,
    now: Timestamp,
) -> NewSession {
    let id = SessionId::generate(now, store.ids());
    let title = match automation.session_mode {
        SessionMode::Fresh => format!("{} {scheduled_for}", automation.name),
        _ => automation.name.clone(),
    };
    NewSession {
        id,
        kind: SessionKind::Automation,
        session_type: SessionType::ScheduleCron,
        key: None,
        title: Some(title),
        draft: false,
        channel: None,
        cwd: automation.cwd.clone(),
        placed_on: automation.placed_on,
        automation_id: Some(automation.id),
        entry: NewSeat::only(automation.agent_id, automation.settings.clone()),
        other_seats: Vec::new(),
    }
}

/// Inserts the rows of skipped occurrences.
async fn insert_skipped(
    store: &Store,
    tx: &mut Tx,
    automations: &HashMap<AutomationId, Automation>,
    skips: &[(Occurrence<'_>, SkipReason)],
    now: Timestamp,
) -> Result<Vec<SubmittedRun>, Error> {
    // 1. Collect the rows and the log entries, and request attention for a session that is closed.
    let mut submitted = Vec::with_capacity(skips.len());
    let mut rows = Vec::with_capacity(skips.len());
    let mut entries = Vec::with_capacity(skips.len());
    for (occurrence, reason) in skips {
        let Some(automation) = automations.get(&occurrence.trigger.automation_id) else {
            continue;
        };
        let run_id = RunId::generate(now, store.ids());
        let new = || InputId::generate(now, store.ids());
        let input = occurrence.input.unwrap_or_else(new);
        let (status, range) = (
            RunStatus::Skipped,
            MissedRange::of(occurrence.scheduled_for),
        );
        let skipped = SkippedOccurrences {
            input,
            id: run_id,
            automation,
            trigger: occurrence.trigger.id,
            range,
            status,
            reason: reason.as_str(),
        };
        rows.push(skipped.insert_params(now));
        entries.push(skipped.log_entry());
        let text = "its session is closed or deleted and accepts no inputs";
        // Request attention once, not at each occurrence.
        let is_requested = automation.attention.as_deref() == Some(text);
        if *reason == SkipReason::SessionClosed && !is_requested {
            automations::request_attention(tx, automation.id, text, now).await?;
        }
        submitted.push(SubmittedRun {
            run_id,
            seat_id: None,
            status,
        });
    }
    // 2. Write. The events go to the log of the automation, because a skipped occurrence has no session.
    tx.execute_rows(sql!("runs/insert_skipped"), rows, params![])
        .await?;
    automations::log::write_entries(tx, entries, now).await?;
    Ok(submitted)
}
