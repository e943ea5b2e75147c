//! The end of runs, whoever brings it about: their outcomes, the visible ends in the transcripts, the
//! next attempts, and what waited for them, in one transaction.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
};

use model::{
    AutomationId, RunId, SeatId, Timestamp, WorkerId,
    automation::AutomationState,
    entity::{Automation, Run},
    event::RunChange,
    lifecycle::Lifecycle,
    limits,
    outcome::{NextAttempt, Outcome, Sequel, StopReason, sequel},
    policy::{Overlap, Policies},
    run::{Origin, RunEvent, RunState, RunStatus},
    session::Admission,
    transcript::{self, Answer, Source},
    turn::{EntryKind, Finished, Role, Settled},
};
use serde_json::{Value, json};

use super::batches::Finishing;
use crate::{
    Error, Scope, approvals, automations,
    database::Tx,
    journal::{Journal, Place},
    locks,
    locks::lock_runs,
    runs::{
        place::{Attempt, Known, insert_all, promote_after, standings},
        spend,
    },
    store::Store,
    stored::{self, StoredFlags},
};

impl Store {
    /// Ends a run that is the worker's and under way, or gives one back that was not begun.
    pub async fn finish(
        &self,
        run: RunId,
        worker: &WorkerId,
        finished: &Finished,
        now: Timestamp,
    ) -> Result<Settled, Error> {
        let finishing = Finishing {
            run,
            worker: worker.clone(),
            finished: finished.clone(),
            now,
        };
        self.batches
            .finish
            .submit(self, finishing, |store, all| {
                Box::pin(store.finish_all(all))
            })
            .await
    }

    /// Ends runs that are their workers' and under way, in one transaction.
    pub(crate) async fn finish_all(&self, all: &[Finishing]) -> Result<Vec<Settled>, Error> {
        let Some(now) = all.iter().map(|one| one.now).max() else {
            return Ok(Vec::new());
        };
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let ids: Vec<RunId> = all.iter().map(|one| one.run).collect();
                let mut locked = lock_runs(tx, &ids).await?;
                let mut ends = Vec::with_capacity(all.len());
                // Whose end it is is looked at before it counts as taken: a stranger takes it from nobody.
                let mut taken = HashMap::new();
                for (at, one) in all.iter().enumerate() {
                    let Some(run) = locked.runs.get(&one.run) else {
                        continue;
                    };
                    let own = run.state.worker_id() == Some(&one.worker);
                    // One that was not begun is only ever given back: while its precheck was asked.
                    let given_back = one.finished.outcome.status() == RunStatus::Stalled;
                    let under_way = match run.state {
                        RunState::Running { .. } => true,
                        RunState::Delivered { .. } => given_back,
                        _ => false,
                    };
                    if under_way && own && !taken.contains_key(&one.run) {
                        taken.insert(one.run, at);
                        let finished = called_off(tx, run, &one.finished).await?;
                        let run = run.clone();
                        ends.push(End { run, finished });
                    }
                }
                let mut journal = Journal::default();
                let automations = &mut locked.automations;
                let ended = end_all(self, tx, &mut journal, ends, automations, now).await?;
                journal.write(tx, now).await?;
                let settled = |(at, one): (usize, &Finishing)| {
                    if ended.contains(&one.run) && taken.get(&one.run) == Some(&at) {
                        Settled::Written
                    } else {
                        Settled::Lost
                    }
                };
                Ok(all.iter().enumerate().map(settled).collect())
            })
        })
        .await
    }
}

/// A run that was to be called off and ended by a failure has been called off: its agent was killed
/// for it or said so itself, or its worker was lost before it could obey.
pub(super) async fn called_off<'a>(
    tx: &mut Tx,
    run: &Run,
    finished: &'a Finished,
) -> Result<Cow<'a, Finished>, Error> {
    let by_failure = matches!(
        finished.outcome,
        Outcome::Failed(_) | Outcome::Stopped(StopReason::Cancelled)
    );
    if !by_failure {
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
    let (RunState::Delivered {
        worker_id,
        cancel_requested_at: Some(_),
    }
    | RunState::Running {
        worker_id,
        cancel_requested_at: Some(_),
        ..
    }) = &run.state
    else {
        return Ok(None);
    };
    let row = tx
        .fetch_optional(sql!("runs/executing"), params![run.id, worker_id])
        .await?;
    Ok(row
        .map(|row| row.optional("cancel_reason"))
        .transpose()?
        .flatten())
}

/// A run that is to end, and how.
pub(super) struct End<'a> {
    pub(super) run: Run,
    pub(super) finished: Cow<'a, Finished>,
}

/// Ends one run as [`end_all`] does. Its automation and its seat are locked.
pub(super) async fn end(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    finished: &Finished,
    now: Timestamp,
) -> Result<Settled, Error> {
    let mut automations = HashMap::new();
    if let Some(id) = run.automation_id {
        match locks::lock_automation(tx, id).await {
            Ok(automation) => {
                automations.insert(id, automation);
            }
            // What follows an end by hand does not depend on it.
            Err(error)
                if error.is_nonsense() && matches!(finished.outcome, Outcome::Cancelled(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let end = End {
        run: run.clone(),
        finished: Cow::Borrowed(finished),
    };
    let mut journal = Journal::default();
    let ended = end_all(store, tx, &mut journal, vec![end], &mut automations, now).await?;
    journal.write(tx, now).await?;
    Ok(if ended.is_empty() {
        Settled::Lost
    } else {
        Settled::Written
    })
}

/// Ends runs, each from the status in which it was read. Their seats and their automations are locked.
/// Gives those that have ended; the others had moved.
pub(super) async fn end_all(
    store: &Store,
    tx: &mut Tx,
    journal: &mut Journal,
    ends: Vec<End<'_>>,
    automations: &mut HashMap<AutomationId, Automation>,
    now: Timestamp,
) -> Result<HashSet<RunId>, Error> {
    let rows = ends.iter().filter_map(End::row).collect();
    let written = tx.fetch_rows(sql!("runs/end"), rows, params![now]).await?;
    let written: HashSet<RunId> = written
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    let ends: Vec<End<'_>> = ends
        .into_iter()
        .filter(|end| written.contains(&end.run.id))
        .collect();
    // Whatever has not begun has asked nothing.
    let asked = ends
        .iter()
        .filter(|end| end.run.status() == RunStatus::Running);
    approvals::void_all(tx, journal, asked.map(|end| end.run.id), now).await?;
    remember(tx, &ends, now).await?;

    let seats: BTreeSet<SeatId> = ends.iter().filter_map(|end| end.run.seat_id).collect();
    let sequels = sequels(tx, &ends, automations, now).await?;
    let mut next = Vec::new();
    for (end, sequel) in ends.iter().zip(&sequels) {
        let automation = end.run.automation_id.and_then(|id| automations.get(&id));
        end.show(store, journal, automation, *sequel, now);
        if let Sequel::Retry(attempt) = sequel {
            next.extend(next_attempt(&end.run, automation, *attempt));
        }
    }
    let made = insert_all(store, tx, journal, &next, Known::default(), now).await?;
    made.into_iter().collect::<Result<Vec<_>, _>>()?;
    let ended: Vec<_> = ends.iter().map(|end| (&end.run, &*end.finished)).collect();
    spend::settle(store, tx, &ended, automations, now).await?;
    for (end, sequel) in ends.iter().zip(&sequels) {
        let automation = end
            .run
            .automation_id
            .and_then(|id| automations.get_mut(&id));
        if let (Sequel::Final, Some(automation)) = (sequel, automation) {
            let status = end.finished.outcome.status();
            automations::count_failures(store, tx, automation, status, now).await?;
        }
    }
    let own = ends.iter().filter_map(|end| end.run.automation_id);
    promote_after(tx, journal, seats, own.collect(), now).await?;
    Ok(written)
}

/// What follows each end.
async fn sequels(
    tx: &mut Tx,
    ends: &[End<'_>],
    automations: &HashMap<AutomationId, Automation>,
    now: Timestamp,
) -> Result<Vec<Sequel>, Error> {
    let defaults = Policies::default();
    let mut sequels = Vec::with_capacity(ends.len());
    let mut retried = BTreeSet::new();
    for End { run, finished } in ends {
        let automation = run.automation_id.and_then(|id| automations.get(&id));
        let policies = automation.map_or(&defaults, |automation| &automation.policies);
        let failed_before = u32::try_from(run.failures).unwrap_or(u32::MAX);
        let next = sequel(
            &finished.outcome,
            run.input_id,
            failed_before,
            policies,
            now,
        );
        if matches!(next, Sequel::Retry(_)) {
            retried.extend(run.seat_id);
        }
        sequels.push(next);
    }
    // Who closed the session or removed the automation meanwhile wants no other attempt.
    let seats = standings(tx, &retried, now).await?;
    for (End { run, .. }, next) in ends.iter().zip(&mut sequels) {
        let automation = run.automation_id.and_then(|id| automations.get(&id));
        let removed = automation.is_some_and(|found| found.state == AutomationState::Deleted);
        let seat = run.seat_id.and_then(|seat| seats.get(&seat));
        let closed = seat.is_none_or(|seat| seat.state.admission() == Admission::Refuse);
        if removed || closed {
            *next = Sequel::Final;
        }
    }
    Ok(sequels)
}

impl End<'_> {
    /// The parameters of `runs/end`; none where no move leads there.
    fn row(&self) -> Option<Vec<db::Param>> {
        let Self { run, finished } = self;
        let outcome = &finished.outcome;
        let status = run.status().apply(event_of(outcome.status())).ok()?;
        run.session_id.and(run.seat_id)?;
        let stop_reason = match outcome {
            Outcome::Stopped(reason) => Some(reason.as_str()),
            _ => None,
        };
        Some(params! { "runs/end";
            id: run.id,
            before: run.status().as_str(),
            after: status.as_str(),
            reason: outcome.reason(),
            message: self.closure(),
            stop_reason: stop_reason,
            flags: &stored::write::<StoredFlags>(&finished.flags).value,
            usage: finished.usage.clone(),
            acp_session: finished
                .acp_session_id
                .as_ref()
                .map(model::AcpSessionId::as_str),
        })
    }

    /// The notice with which the transcript ends; none where the answer is the end.
    fn closure(&self) -> Option<String> {
        let answer = match self.finished.answer.trim() {
            "" => Answer::None,
            _ if self.finished.flags.answer_cut => Answer::Cut,
            _ => Answer::Whole,
        };
        transcript::closure(&self.finished.outcome, answer)
    }

    /// Writes the answer and the notice into the transcript, and the end into the log.
    fn show(
        &self,
        store: &Store,
        journal: &mut Journal,
        automation: Option<&Automation>,
        next: Sequel,
        now: Timestamp,
    ) {
        let Self { run, finished } = self;
        let Some(session) = run.session_id else {
            return;
        };
        let place = Place {
            tenant: run.tenant_id,
            session,
            run: Some(run.id),
            seat: run.seat_id,
        };
        let source = automation.filter(|_| run.origin == Origin::Occurrence);
        let source = source.map(|automation| Source {
            automation_id: automation.id,
            automation_name: automation.name.clone(),
        });
        let status = finished.outcome.status();
        let mut metadata = transcript::metadata(source.as_ref(), run.id, run.prompt_ref.as_ref());
        metadata["outcome"] = json!(status);
        if !finished.answer.trim().is_empty() {
            let mut metadata = metadata.clone();
            if !matches!(finished.outcome, Outcome::Stopped(StopReason::EndTurn)) {
                metadata["interrupted"] = true.into();
            }
            let answer = finished.answer.as_str();
            let entry = store.entry(Role::Assistant, EntryKind::Message, answer, metadata, now);
            journal.message(place, entry);
        }
        if let Some(text) = self.closure() {
            let text = with_sequel(text, next);
            let entry = store.entry(Role::System, EntryKind::Notice, text, metadata, now);
            journal.message(place, entry);
        }
        let change = RunChange::ended(&finished.outcome, run.attempt);
        journal.run(session, run.id, change);
    }
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

/// The next attempt at a run's input; none where the run has no seat.
pub(super) fn next_attempt<'a>(
    run: &'a Run,
    automation: Option<&Automation>,
    next: NextAttempt,
) -> Option<Attempt<'a>> {
    let overlap = automation.map_or(Overlap::Allow, |found| {
        found.policies.overlap(found.session_mode)
    });
    Some(Attempt {
        id: None,
        tenant: run.tenant_id,
        input: run.input_id,
        number: run.attempt + 1,
        failures: run.failures + i64::from(next.counts),
        origin: run.origin,
        session: run.session_id?,
        seat: run.seat_id?,
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
    })
}

/// Keeps what turns leave behind beside the transcript: the memory of seats, titles, records.
async fn remember(tx: &mut Tx, ends: &[End<'_>], now: Timestamp) -> Result<(), Error> {
    let runs: Vec<_> = ends.iter().map(|end| params![end.run.id]).collect();
    let (mut records, mut remembered) = (Vec::new(), Vec::new());
    let (mut unpinned, mut titles) = (Vec::new(), Vec::new());
    let mut readings = Vec::new();
    for End { run, finished } in ends {
        records.push(params![
            run.id,
            run.tenant_id,
            &finished.diagnostics,
            finished.error.as_deref(),
            now
        ]);
        let (Some(session), Some(seat)) = (run.session_id, run.seat_id) else {
            continue;
        };
        match &finished.acp_session_id {
            Some(memory) if finished.turn_ended => remembered.push(params![seat, memory.as_str()]),
            // Until a first turn has ended there is no memory, and a retry may go elsewhere.
            _ => unpinned.push(params![seat]),
        }
        readings.extend(spend::reading(seat, finished.usage.as_ref()));
        if let Some(title) = &finished.title {
            let title: String = title.chars().take(limits::NAME_BYTES).collect();
            titles.push(params![session, title]);
        }
    }
    tx.execute_rows(sql!("heartbeats/delete"), runs.clone(), params![])
        .await?;
    tx.execute_rows(sql!("live/delete"), runs, params![])
        .await?;
    tx.execute_rows(sql!("records/end"), records, params![])
        .await?;
    tx.execute_rows(sql!("seats/remember"), remembered, params![now])
        .await?;
    tx.execute_rows(sql!("seats/note_usage"), readings, params![])
        .await?;
    tx.execute_rows(sql!("seats/unpin"), unpinned, params![now])
        .await?;
    tx.execute_rows(sql!("sessions/set_title"), titles, params![])
        .await?;
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

/// The diagnostics of a run that its worker could not finish itself.
pub(super) fn lost_diagnostics(run: &Run) -> Value {
    json!({ "worker_id": run.state.worker_id(), "started_at": run.state.started_at() })
}
