//! The end of runs: one transaction records the outcome, shows the end in the transcript, creates the next attempt if
//! there is one, and promotes the runs that waited. The worker, a person, the watchdog and other transitions all end
//! runs through [`end_runs`].
//!
//! **Invariant:** the update of a run compares the status that was read, so that a run ends once.

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
    outcome::{FollowUp, NextAttempt, Outcome, StopReason, follow_up},
    owner::RunOwner,
    run::{RunEvent, RunState, RunStatus},
    session::Admission,
    transcript::{self, AnswerExtent},
    turn::{EntryKind, Role, TurnResult, WriteOutcome},
};
use serde_json::json;

use crate::batches::FinishRequest;
use crate::{
    Error, Scope, approvals, automations, boxed,
    database::Tx,
    locks::{self, lock_runs},
    runs::{
        admit::{NewAttempt, Preloaded, insert_attempts, promote_after, read_seat_statuses},
        follow_up_notice::append_follow_up,
        goals::{EndedTurn, end_turns},
        run_usage,
        seat_input::wake_seats_after,
        task_memories::{MemoryEnds, TaskMemories},
    },
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
    stored::{self, StoredFlags},
};

impl Store {
    /// Ends a run that `worker` executes. A run that `worker` has claimed but not begun may only end as `stalled`, so
    /// that its next attempt follows. Returns [`WriteOutcome::Fenced`] if the run is no longer this worker's.
    #[boxed]
    pub async fn finish(
        &self,
        run: RunId,
        worker: &WorkerId,
        finished: &TurnResult,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        let request = FinishRequest {
            run,
            worker: worker.clone(),
            finished: finished.clone(),
            now,
        };
        self.batches
            .finish
            .submit(self, request, |store, all| {
                Box::pin(store.finish_batch(all))
            })
            .await
    }

    /// Ends runs in one transaction, as [`Store::finish`] does. Returns one result for each request, in their order.
    pub(crate) async fn finish_batch(
        &self,
        all: &[FinishRequest],
    ) -> Result<Vec<WriteOutcome>, Error> {
        let Some(now) = all.iter().map(|request| request.now).max() else {
            return Ok(Vec::new());
        };
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automations and then the seats of the runs.
                let ids: Vec<RunId> = all.iter().map(|request| request.run).collect();
                let mut locked = lock_runs(tx, &ids).await?;
                let mut ends = Vec::with_capacity(all.len());
                // 2. Decide. Fence: check that the worker still owns the run before recording its end. Otherwise the
                // request of a stale worker could displace the owner's request in the same batch.
                let mut accepted = HashMap::new();
                for (at, request) in all.iter().enumerate() {
                    let Some(run) = locked.runs.get(&request.run) else {
                        continue;
                    };
                    let is_owner = run.state.worker_id() == Some(&request.worker);
                    // A run that has not begun may only be requeued, because its server stopped during the precheck.
                    let is_requeue = request.finished.outcome.status() == RunStatus::Stalled;
                    let may_end = match run.state {
                        RunState::Running { .. } => true,
                        RunState::Delivered { .. } => is_requeue,
                        _ => false,
                    };
                    if may_end && is_owner && !accepted.contains_key(&request.run) {
                        accepted.insert(request.run, at);
                        let finished = failure_as_cancellation(tx, run, &request.finished).await?;
                        let run = run.clone();
                        ends.push(EndingRun { run, finished });
                    }
                }
                // 3. Write the ends.
                let mut log = SessionLogWriter::default();
                let automations = &mut locked.automations;
                let ended = end_runs(self, tx, &mut log, ends, automations, now).await?;
                log.write(tx, now).await?;
                // 4. Reply. Of several requests for one run, only the accepted one is committed.
                let outcome = |(at, request): (usize, &FinishRequest)| {
                    if ended.contains(&request.run) && accepted.get(&request.run) == Some(&at) {
                        WriteOutcome::Committed
                    } else {
                        WriteOutcome::Fenced
                    }
                };
                Ok(all.iter().enumerate().map(outcome).collect())
            })
        })
        .await
    }
}

/// Turns a failure into a cancellation if the run was to be cancelled: the agent was killed for that reason or
/// reported the cancellation itself, or its worker was lost before it could cancel the turn.
pub(super) async fn failure_as_cancellation<'a>(
    tx: &mut Tx,
    run: &Run,
    finished: &'a TurnResult,
) -> Result<Cow<'a, TurnResult>, Error> {
    let is_failure = matches!(
        finished.outcome,
        Outcome::Failed(_) | Outcome::Stopped(StopReason::Cancelled)
    );
    if !is_failure {
        return Ok(Cow::Borrowed(finished));
    }
    Ok(match cancel_reason(tx, run).await? {
        None => Cow::Borrowed(finished),
        Some(reason) => Cow::Owned(TurnResult {
            outcome: Outcome::Cancelled(reason),
            ..finished.clone()
        }),
    })
}

/// Returns the reason of the request to cancel a run. Returns `None` if there is no such request.
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
    let reason = row.map(|row| row.optional("cancel_reason"));
    Ok(reason.transpose()?.flatten())
}

/// A run, with the outcome of its turn.
pub(super) struct EndingRun<'a> {
    pub(super) run: Run,
    pub(super) finished: Cow<'a, TurnResult>,
}

/// Ends one run as [`end_runs`] does. The caller must hold the locks of its automation and its seat.
pub(super) async fn end_run(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    log: &mut SessionLogWriter,
    finished: &TurnResult,
    now: Timestamp,
) -> Result<WriteOutcome, Error> {
    let mut automations = HashMap::new();
    if let Some(id) = run.automation_id {
        match locks::lock_automation(tx, id).await {
            Ok(automation) => {
                automations.insert(id, automation);
            }
            // A cancellation needs nothing from the automation, so that a person can cancel a run of a corrupt
            // automation.
            Err(error)
                if error.is_corrupt() && matches!(finished.outcome, Outcome::Cancelled(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let end = EndingRun {
        run: run.clone(),
        finished: Cow::Borrowed(finished),
    };
    let ended = end_runs(store, tx, log, vec![end], &mut automations, now).await?;
    Ok(if ended.is_empty() {
        WriteOutcome::Fenced
    } else {
        WriteOutcome::Committed
    })
}

/// Ends runs, each only if its status is still the one that was read. Returns the runs that have ended. The caller
/// must hold the locks of their automations and their seats.
pub(super) async fn end_runs(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    ends: Vec<EndingRun<'_>>,
    automations: &mut HashMap<AutomationId, Automation>,
    now: Timestamp,
) -> Result<HashSet<RunId>, Error> {
    // 1. Write the ends.
    let rows = ends.iter().filter_map(EndingRun::end_params).collect();
    let written = tx.fetch_rows(sql!("runs/end"), rows, params![now]).await?;
    let written: HashSet<RunId> = written
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    let ends: Vec<EndingRun<'_>> = ends
        .into_iter()
        .filter(|end| written.contains(&end.run.id))
        .collect();
    // 2. Void pending approvals. Only a running turn can have any.
    let is_running = |end: &&EndingRun<'_>| end.run.status() == RunStatus::Running;
    let running = ends.iter().filter(is_running);
    approvals::void_approvals(tx, log, running.map(|end| end.run.id), now).await?;
    store_results(tx, log, &ends, now).await?;
    // 3. Decide on the next attempts, and show the ends.
    let seats: BTreeSet<SeatId> = ends.iter().filter_map(|end| end.run.seat_id).collect();
    let follow_ups = follow_ups(tx, &ends, automations, now).await?;
    let mut next = Vec::new();
    for (end, follow_up) in ends.iter().zip(&follow_ups) {
        let owner = RunOwner::of(&end.run, automations);
        end.log_end(store, log, owner, *follow_up, now);
        if let FollowUp::Retry(attempt) = follow_up {
            next.extend(next_attempt(&end.run, owner, *attempt));
        }
    }
    let inserted = insert_attempts(store, tx, log, &next, Preloaded::default(), now).await?;
    inserted.into_iter().collect::<Result<Vec<_>, _>>()?;
    let succeeded = ends.iter().filter(|end| end.has_succeeded());
    let succeeded: Vec<&Run> = succeeded.map(|end| &end.run).collect();
    wake_seats_after(store, tx, log, &succeeded, now).await?;
    // 4. Count the usage and the consecutive failures.
    let ended: Vec<_> = ends.iter().map(|end| (&end.run, &*end.finished)).collect();
    run_usage::count_final_usage(store, tx, &ended, automations, now).await?;
    for (end, follow_up) in ends.iter().zip(&follow_ups) {
        let automation = end.run.automation_id;
        let automation = automation.and_then(|id| automations.get_mut(&id));
        if let (FollowUp::Final, Some(automation)) = (follow_up, automation) {
            let status = end.finished.outcome.status();
            automations::count_failures(store, tx, automation, status, now).await?;
        }
    }
    // 5. Move the goals of turns that are over.
    let turns = ends
        .iter()
        .zip(&follow_ups)
        .filter_map(|(end, next)| EndedTurn::of(&end.run, &end.finished, *next == FollowUp::Final));
    end_turns(store, tx, log, &turns.collect::<Vec<_>>(), now).await?;
    // 6. Promote last, so that the retry is in the queue of its seat when the promotion chooses the next run.
    let owners = ends.iter().filter_map(|end| end.run.automation_id);
    promote_after(tx, log, seats, owners.collect(), now).await?;
    Ok(written)
}

/// Decides whether another attempt follows each end.
async fn follow_ups(
    tx: &mut Tx,
    ends: &[EndingRun<'_>],
    automations: &HashMap<AutomationId, Automation>,
    now: Timestamp,
) -> Result<Vec<FollowUp>, Error> {
    let mut follow_ups = Vec::with_capacity(ends.len());
    let mut retried = BTreeSet::new();
    for EndingRun { run, finished } in ends {
        let failed_before = u32::try_from(run.failures).unwrap_or(u32::MAX);
        let next = follow_up(
            &finished.outcome,
            run.input_id,
            failed_before,
            RunOwner::of(run, automations).policies(),
            now,
        );
        if matches!(next, FollowUp::Retry(_)) {
            retried.extend(run.seat_id);
        }
        follow_ups.push(next);
    }
    // No attempt follows in a closed session or for a deleted automation.
    let seats = read_seat_statuses(tx, &retried, now).await?;
    for (EndingRun { run, .. }, next) in ends.iter().zip(&mut follow_ups) {
        let automation = RunOwner::of(run, automations).automation();
        let deleted = automation.is_some_and(|found| found.state == AutomationState::Deleted);
        let seat = run.seat_id.and_then(|seat| seats.get(&seat));
        let closed = seat.is_none_or(|seat| seat.session_status.admission() == Admission::Refuse);
        if deleted || closed {
            *next = FollowUp::Final;
        }
    }
    Ok(follow_ups)
}

impl EndingRun<'_> {
    fn has_succeeded(&self) -> bool {
        self.finished.outcome.status() == RunStatus::Succeeded
    }

    /// Returns the parameters of `runs/end`. Returns `None` if the run's status has no transition to the outcome, or
    /// if the run has no session or no seat.
    fn end_params(&self) -> Option<Vec<db::Param>> {
        let Self { run, finished } = self;
        let outcome = &finished.outcome;
        let status = run
            .status()
            .apply(event_for_status(outcome.status()))
            .ok()?;
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
            message: self.closing_notice(),
            stop_reason: stop_reason,
            flags: &stored::write::<StoredFlags>(&finished.flags).value,
            usage: finished.usage.clone(),
            acp_session: finished
                .acp_session_id
                .as_ref()
                .map(model::AcpSessionId::as_str),
        })
    }

    /// Returns the notice at the end of the transcript. Returns `None` if the answer is the end.
    fn closing_notice(&self) -> Option<String> {
        let answer = match self.finished.answer.trim() {
            "" => AnswerExtent::None,
            _ if self.finished.flags.answer_cut => AnswerExtent::Cut,
            _ => AnswerExtent::Whole,
        };
        transcript::closing_notice(&self.finished.outcome, answer)
    }

    /// Adds the answer and the notice to the transcript, and the end to the session's log.
    fn log_end(
        &self,
        store: &Store,
        log: &mut SessionLogWriter,
        owner: RunOwner<'_>,
        next: FollowUp,
        now: Timestamp,
    ) {
        let Self { run, finished } = self;
        let Some(session) = run.session_id else {
            return;
        };
        let location = EntryLocation {
            tenant: run.tenant_id,
            session,
            run: Some(run.id),
            seat: run.seat_id,
        };
        let source = owner.automation_source();
        let status = finished.outcome.status();
        let mut metadata = transcript::metadata(source.as_ref(), run.id, run.prompt_ref.as_ref());
        metadata["outcome"] = json!(status);
        if !finished.answer.trim().is_empty() {
            let mut metadata = metadata.clone();
            if !matches!(finished.outcome, Outcome::Stopped(StopReason::EndTurn)) {
                metadata["interrupted"] = true.into();
            }
            let answer = finished.answer.as_str();
            let entry = store.new_entry(Role::Assistant, EntryKind::Message, answer, metadata, now);
            log.add_message(location, entry);
        }
        if let Some(text) = self.closing_notice() {
            let text = append_follow_up(text, (run.origin, status), next);
            let entry = store.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
            log.add_message(location, entry);
        }
        let change = RunChange::from_outcome(&finished.outcome, run.attempt);
        log.add_run_change(session, run.id, change);
    }
}

/// Returns the event that moves a run to a status.
const fn event_for_status(status: RunStatus) -> RunEvent {
    match status {
        RunStatus::Succeeded => RunEvent::Succeed,
        RunStatus::Cancelled => RunEvent::Cancel,
        RunStatus::Stalled => RunEvent::Stall,
        _ => RunEvent::Fail,
    }
}

/// Builds the next attempt at a run's input. Returns `None` if the run has no session or no seat.
pub(super) fn next_attempt<'a>(
    run: &'a Run,
    owner: RunOwner<'_>,
    next: NextAttempt,
) -> Option<NewAttempt<'a>> {
    Some(NewAttempt {
        id: None,
        tenant: run.tenant_id,
        input: run.input_id,
        number: run.attempt + 1,
        failures: run.failures + i64::from(next.counts_as_failure),
        origin: run.origin,
        session: run.session_id?,
        seat: run.seat_id?,
        automation: run.automation_id,
        trigger: run.trigger_id,
        task: run.task,
        scheduled_for: run.scheduled_for,
        exclusive: owner.is_exclusive(),
        content: &run.content,
        not_before: next.not_before,
        interrupted: next
            .interrupted
            .then_some(run.id)
            .or(run.interrupted_run_id),
        input_at: run.input_at,
    })
}

/// Stores the results of turns outside the transcript: the agent's session ID, the usage, the title and the internal
/// record. Removes the heartbeats and the live texts.
async fn store_results(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    ends: &[EndingRun<'_>],
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Collect the rows.
    let runs: Vec<_> = ends.iter().map(|end| params![end.run.id]).collect();
    let (mut records, mut remembered) = (Vec::new(), Vec::new());
    let mut unpinned = Vec::new();
    let mut readings = Vec::new();
    let memories = TaskMemories::read(tx, ends.iter().map(|end| &end.run)).await?;
    let mut of_tasks = MemoryEnds::default();
    for EndingRun { run, finished } in ends {
        let (id, tenant, error) = (run.id, run.tenant_id, finished.error.as_deref());
        records.push(params![id, tenant, &finished.diagnostics, error, now]);
        let (Some(session), Some(seat)) = (run.session_id, run.seat_id) else {
            continue;
        };
        let (memory, usage) = (finished.acp_session_id.as_ref(), finished.usage.as_ref());
        let memory = memory.filter(|_| finished.turn_ended);
        let key = memories.key(run);
        match key {
            Some(key) => of_tasks.add(key, memory, usage),
            None => readings.extend(run_usage::usage_params(seat, usage)),
        }
        match (memory, key) {
            (Some(memory), None) => {
                let started = run.state.started_at();
                let since = started.filter(|_| finished.outcome.status() == RunStatus::Succeeded);
                remembered.push(params![seat, memory.as_str(), id, since]);
            }
            (Some(_), Some(_)) => {}
            // Until a first turn has ended, the agent has no memory to restore. Unpin the seat, so that a retry may run
            // on another instance.
            (None, _) => unpinned.push(params![seat]),
        }
        if let Some(title) = &finished.title {
            let title: String = title.chars().take(limits::NAME_BYTES).collect();
            log.add_title(session, title);
        }
    }
    // 2. Write. `seats/unpin` omits a seat with an agent session, because another instance could not restore it.
    locks::lock_heartbeats(tx, ends.iter().map(|end| end.run.id)).await?;
    tx.execute_rows(sql!("heartbeats/delete"), runs.clone(), params![])
        .await?;
    tx.execute_rows(sql!("live/delete"), runs, params![])
        .await?;
    tx.execute_rows(sql!("records/end"), records, params![])
        .await?;
    tx.execute_rows(sql!("seats/store_agent_session"), remembered, params![now])
        .await?;
    of_tasks.write(tx, now).await?;
    tx.execute_rows(sql!("seats/set_usage"), readings, params![])
        .await?;
    tx.execute_rows(sql!("seats/unpin"), unpinned, params![now])
        .await?;
    Ok(())
}
