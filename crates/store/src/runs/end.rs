//! The end of a run, whoever brings it about: its outcome, the visible end in the transcript, the next
//! attempt, and what waited for it, in one transaction.

use std::borrow::Cow;

use model::{
    RunId, SeatId, Timestamp, WorkerId,
    automation::AutomationState,
    entity::{Automation, Run},
    lifecycle::Lifecycle,
    limits,
    outcome::{NextAttempt, Outcome, Sequel, StopReason, consecutive_failures, sequel},
    policy::{Overlap, Policies},
    run::{Origin, RunEvent, RunStatus},
    session::Admission,
    transcript::{self, Answer, Source},
    turn::{EntryKind, Finished, Role, Settled},
};
use serde_json::{Value, json};

use crate::{
    Error, Scope, automations,
    database::Tx,
    journal::{self, Place},
    rows,
    runs::place::{Attempt, insert, lock_seat, promote_after},
    store::{Store, transact},
};

impl Store {
    /// Ends a run that is the worker's and under way.
    pub async fn finish(
        &self,
        run: RunId,
        worker: &WorkerId,
        finished: &Finished,
        now: Timestamp,
    ) -> Result<Settled, Error> {
        transact!(self, Scope::System, |tx| {
            let Some(run) = lock(tx, run).await? else {
                return Ok(Settled::Lost);
            };
            if run.status != RunStatus::Running || run.worker_id.as_ref() != Some(worker) {
                return Ok(Settled::Lost);
            }
            let finished = called_off(tx, &run, finished).await?;
            end(self, tx, &run, &finished, now).await
        })
    }
}

/// A run that was to be called off and ended by a failure has been called off: its agent was killed
/// for it, or its worker was lost before it could obey.
pub(super) async fn called_off<'a>(
    tx: &mut Tx,
    run: &Run,
    finished: &'a Finished,
) -> Result<Cow<'a, Finished>, Error> {
    if !matches!(finished.outcome, Outcome::Failed(_)) {
        return Ok(Cow::Borrowed(finished));
    }
    Ok(match cancel_reason(tx, run).await? {
        None => Cow::Borrowed(finished),
        Some(reason) => Cow::Owned(Finished {
            outcome: Outcome::Cancelled(reason),
            ..finished.clone()
        }),
    })
}

/// Why a run that a worker has is to be called off, if it is.
pub(super) async fn cancel_reason(tx: &mut Tx, run: &Run) -> Result<Option<String>, Error> {
    let (Some(_), Some(worker)) = (run.cancel_requested_at, &run.worker_id) else {
        return Ok(None);
    };
    let row = tx
        .fetch_optional(sql!("runs/executing"), params![run.id, worker])
        .await?;
    Ok(row
        .map(|row| row.optional("cancel_reason"))
        .transpose()?
        .flatten())
}

/// Locks a run's automation and its seat, in that order, and reads the run; `None` where there is no
/// such run, or it has no seat.
pub(super) async fn lock(tx: &mut Tx, run: RunId) -> Result<Option<Run>, Error> {
    let none: Option<model::TenantId> = None;
    let Some(row) = tx
        .fetch_optional(sql!("runs/by_id"), params![none, run])
        .await?
    else {
        return Ok(None);
    };
    let found = rows::run(&row)?;
    let Some(seat) = found.seat_id else {
        return Ok(None);
    };
    if let Some(automation) = found.automation_id {
        automations::lock_any(tx, automation).await?;
    }
    tx.fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
        .await?;
    let row = tx
        .fetch_optional(sql!("runs/by_id"), params![none, run])
        .await?;
    row.as_ref().map(rows::run).transpose()
}

/// Ends a run from the status in which it was read. Its seat is locked.
pub(super) async fn end(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    finished: &Finished,
    now: Timestamp,
) -> Result<Settled, Error> {
    let (Some(session), Some(seat)) = (run.session_id, run.seat_id) else {
        return Ok(Settled::Lost);
    };
    let outcome = &finished.outcome;
    let Ok(status) = run.status.apply(event_of(outcome.status())) else {
        return Ok(Settled::Lost);
    };
    let stop_reason = match outcome {
        Outcome::Stopped(reason) => Some(reason.as_str()),
        _ => None,
    };
    let answer = match finished.answer.trim() {
        "" => Answer::None,
        _ if finished.flags.answer_cut => Answer::Cut,
        _ => Answer::Whole,
    };
    let closure = transcript::closure(outcome, answer);
    let written = tx
        .execute(
            sql!("runs/end"),
            params![
                run.id,
                run.status.as_str(),
                status.as_str(),
                now,
                outcome.reason(),
                closure.as_deref(),
                stop_reason,
                &json!(finished.flags),
                finished.usage.clone(),
                finished
                    .acp_session_id
                    .as_ref()
                    .map(model::AcpSessionId::as_str)
            ],
        )
        .await?;
    if written == 0 {
        return Ok(Settled::Lost);
    }
    remember(tx, run, finished, now).await?;

    let automation = match run.automation_id {
        None => None,
        Some(id) => Some(automations::lock_any(tx, id).await?),
    };
    let defaults = Policies::default();
    let policies = automation
        .as_ref()
        .map_or(&defaults, |automation| &automation.policies);
    let failed_before = u32::try_from(run.failures).unwrap_or(u32::MAX);
    let next = match sequel(outcome, run.input_id, failed_before, policies, now) {
        // Who closed the session or removed the automation meanwhile wants no other attempt.
        Sequel::Retry(_) if !takes_inputs(tx, seat, automation.as_ref(), now).await? => {
            Sequel::Final
        }
        next => next,
    };

    let place = Place {
        tenant: run.tenant_id,
        session,
        run: Some(run.id),
        seat: Some(seat),
    };
    let end = VisibleEnd {
        status,
        closure,
        next,
    };
    show_end(
        store,
        tx,
        place,
        run,
        automation.as_ref(),
        finished,
        end,
        now,
    )
    .await?;

    match next {
        Sequel::Retry(next) => {
            insert_next(store, tx, place, run, automation.as_ref(), next, now).await?;
        }
        Sequel::Final => {
            if let Some(automation) = &automation {
                count_failures(store, tx, automation, status, now).await?;
            }
        }
    }
    promote_after(tx, seat, run.automation_id, now).await?;
    Ok(Settled::Written)
}

/// Whether another attempt may be made at an input of the seat.
async fn takes_inputs(
    tx: &mut Tx,
    seat: SeatId,
    automation: Option<&Automation>,
    now: Timestamp,
) -> Result<bool, Error> {
    let removed = automation.is_some_and(|found| found.state == AutomationState::Deleted);
    let seat = lock_seat(tx, seat, now).await?;
    let closed = seat.is_none_or(|seat| seat.state.admission() == Admission::Refuse);
    Ok(!removed && !closed)
}

/// What people are to see of an end.
struct VisibleEnd {
    status: RunStatus,
    /// The notice; none where the answer is the end.
    closure: Option<String>,
    next: Sequel,
}

/// Writes the answer and the notice into the transcript, and the end into the log.
#[expect(
    clippy::too_many_arguments,
    reason = "what the end of a run has at hand"
)]
async fn show_end(
    store: &Store,
    tx: &mut Tx,
    place: Place,
    run: &Run,
    automation: Option<&Automation>,
    finished: &Finished,
    end: VisibleEnd,
    now: Timestamp,
) -> Result<(), Error> {
    let source = automation.filter(|_| run.origin == Origin::Occurrence);
    let source = source.map(|automation| Source {
        automation_id: automation.id,
        automation_name: automation.name.clone(),
    });
    let mut metadata = transcript::metadata(source.as_ref(), run.id, run.prompt_ref.as_ref());
    metadata["outcome"] = json!(end.status);
    if !finished.answer.trim().is_empty() {
        let mut metadata = metadata.clone();
        if !matches!(finished.outcome, Outcome::Stopped(StopReason::EndTurn)) {
            metadata["interrupted"] = true.into();
        }
        let answer = finished.answer.as_str();
        let entry = store.entry(Role::Assistant, EntryKind::Message, answer, metadata, now);
        journal::message(tx, place, &entry, now).await?;
    }
    if let Some(text) = end.closure {
        let text = with_sequel(text, end.next);
        let entry = store.entry(Role::System, EntryKind::Notice, text, metadata, now);
        journal::message(tx, place, &entry, now).await?;
    }
    let reason = finished.outcome.reason();
    let body = json!({ "status": end.status, "reason": reason, "attempt": run.attempt });
    journal::run_event(tx, place.session, run.id, body, now).await
}

/// The move that leads to a status.
const fn event_of(status: RunStatus) -> RunEvent {
    match status {
        RunStatus::Succeeded => RunEvent::Succeed,
        RunStatus::Cancelled => RunEvent::Cancel,
        RunStatus::Stalled => RunEvent::Stall,
        _ => RunEvent::Fail,
    }
}

/// Keeps what a turn leaves behind beside the transcript: the seat's memory, the title, the record.
async fn remember(
    tx: &mut Tx,
    run: &Run,
    finished: &Finished,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("heartbeats/delete"), params![run.id])
        .await?;
    tx.execute(sql!("live/delete"), params![run.id]).await?;
    tx.execute(
        sql!("records/end"),
        params![
            run.id,
            run.tenant_id,
            &finished.diagnostics,
            finished.error.as_deref(),
            now
        ],
    )
    .await?;
    let (Some(session), Some(seat)) = (run.session_id, run.seat_id) else {
        return Ok(());
    };
    match &finished.acp_session_id {
        Some(memory) if finished.turn_ended => {
            tx.execute(sql!("seats/remember"), params![seat, memory.as_str(), now])
                .await?;
        }
        // Until a first turn has ended there is no memory, and a retry may go elsewhere.
        _ => {
            tx.execute(sql!("seats/unpin"), params![seat, now]).await?;
        }
    }
    if let Some(title) = &finished.title {
        let title: String = title.chars().take(limits::NAME_BYTES).collect();
        tx.execute(sql!("sessions/set_title"), params![session, title])
            .await?;
    }
    Ok(())
}

/// Makes the next attempt at a run's input.
pub(super) async fn insert_next(
    store: &Store,
    tx: &mut Tx,
    place: Place,
    run: &Run,
    automation: Option<&Automation>,
    next: NextAttempt,
    now: Timestamp,
) -> Result<(), Error> {
    let overlap = automation.map_or(Overlap::Allow, |found| {
        found.policies.overlap(found.session_mode)
    });
    let Some(seat) = place.seat else {
        return Ok(());
    };
    let attempt = Attempt {
        tenant: run.tenant_id,
        input: run.input_id,
        number: run.attempt + 1,
        failures: run.failures + i64::from(next.counts),
        origin: run.origin,
        session: place.session,
        seat,
        automation: run.automation_id,
        trigger: run.trigger_id,
        scheduled_for: run.scheduled_for,
        exclusive: overlap != Overlap::Allow,
        content: &run.content,
        not_before: next.not_before,
        interrupted: next
            .interrupted
            .then_some(run.id)
            .or(run.interrupted_run_id),
        input_at: run.input_at,
    };
    insert(store, tx, &attempt, now).await?;
    Ok(())
}

/// Says in the visible end what follows it.
fn with_sequel(text: String, next: Sequel) -> String {
    match next {
        Sequel::Final => text,
        Sequel::Retry(NextAttempt {
            not_before: None, ..
        }) => format!("{text} It will be taken up again."),
        Sequel::Retry(NextAttempt {
            not_before: Some(at),
            ..
        }) => {
            let at = at.jiff().round(jiff::Unit::Second).unwrap_or(at.jiff());
            format!("{text} It will be tried again at {at}.")
        }
    }
}

/// Keeps the automation's count of consecutive failures, and pauses it at its limit.
async fn count_failures(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    status: RunStatus,
    now: Timestamp,
) -> Result<(), Error> {
    let before = u32::try_from(automation.consecutive_failures).unwrap_or(u32::MAX);
    let count = consecutive_failures(before, status);
    if count == before {
        return Ok(());
    }
    tx.execute(
        sql!("automations/set_failures"),
        params![automation.id, count, now],
    )
    .await?;
    let limit = automation.policies.pause_after_failures;
    let enabled = automation.state == AutomationState::Enabled;
    if limit > 0 && count >= limit && enabled {
        automations::pause(store, tx, automation, "failures", now).await?;
        let text = format!("paused itself after {count} consecutive failures");
        automations::set_attention(tx, automation.id, Some(&text), now).await?;
    }
    Ok(())
}

/// The diagnostics of a run that its worker could not finish itself.
pub(super) fn lost_diagnostics(run: &Run) -> Value {
    json!({ "worker_id": run.worker_id, "started_at": run.started_at })
}
