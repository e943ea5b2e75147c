//! The conversation of one turn: sends the prompt, records the updates, and cancels the prompt at a limit or an order
//! to stop.
//!
//! After the agent was asked to cancel, it has a grace to end its turn; then the conversation ends without its
//! answer.

use std::{pin::pin, time::Duration};

use agent::{Agent, PromptError, Update};
use model::{
    RunId,
    budget::{Accounts, ReachedLimit},
    outcome::StopReason,
    turn::{TurnPolicies, WriteOutcome},
};
use serde_json::json;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use crate::{
    approvals::{ApprovalDriver, PendingApprovals},
    heartbeat::{HeartbeatState, Stop},
    log_warning,
    permissions::PendingRequest,
    recorder::Recorder,
    time_limits::with_write_timeout,
    turn_store::TurnStore,
};

/// The shortest pause between two writes of live text and transcript rows.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// The most updates that wait between the reader of the agent's output and the recorder.
const MAX_QUEUED_UPDATES: usize = 256;

/// The end of a prompt. The flags are `true` if the agent still ended its turn.
pub(crate) enum PromptEnd {
    /// The agent answered, or the prompt failed.
    Completed(Result<StopReason, PromptError>),
    /// An order stopped the turn, or this worker lost the run.
    Stopped(Stop, bool),
    /// The agent sent no update for too long.
    Inactive(bool),
    /// The turn reached its time limit.
    Timeout(bool),
    /// The turn reached a budget, which the text names.
    Budget(String, bool),
}

/// The reason why the agent was asked to cancel.
enum CancelReason {
    Stop(Stop),
    Inactive,
    Timeout,
    Budget(ReachedLimit),
}

impl CancelReason {
    fn into_prompt_end(self, ended: bool) -> PromptEnd {
        match self {
            Self::Stop(stop) => PromptEnd::Stopped(stop, ended),
            Self::Inactive => PromptEnd::Inactive(ended),
            Self::Timeout => PromptEnd::Timeout(ended),
            Self::Budget(reached) => PromptEnd::Budget(reached.to_string(), ended),
        }
    }
}

/// The store, the run and the limits of a conversation.
pub(crate) struct ConversationContext<'a> {
    pub(crate) store: &'a dyn TurnStore,
    pub(crate) run: RunId,
    pub(crate) policies: &'a TurnPolicies,
    pub(crate) deadline: Instant,
    pub(crate) heartbeat: watch::Receiver<HeartbeatState>,
    /// The budgets that limit the turn, with their usage so far.
    pub(crate) accounts: Accounts,
    /// The instant at which the turn began.
    pub(crate) began: Instant,
    /// The shortest pause between two writes of the turn's usage. Each write also returns the usage of other turns.
    pub(crate) usage_write_interval: Duration,
    /// The time that the agent has to end its turn after it was asked to cancel.
    pub(crate) cancel_grace: Duration,
}

/// The receiver that brings the agent's updates into a recorder.
pub(crate) struct UpdateListener {
    updates: mpsc::Receiver<Update>,
    pub(crate) recorder: Recorder,
}

impl UpdateListener {
    /// Returns a listener, and the sender for the agent's updates.
    pub(crate) fn new(recorder: Recorder) -> (mpsc::Sender<Update>, Self) {
        let (sender, updates) = mpsc::channel(MAX_QUEUED_UPDATES);
        (sender, Self { updates, recorder })
    }

    /// Records updates until `end` completes, including those that are in the channel by then.
    pub(crate) async fn listen_during<T>(&mut self, end: impl Future<Output = T>) -> T {
        let mut end = pin!(end);
        loop {
            tokio::select! {
                biased;
                done = &mut end => {
                    while let Ok(update) = self.updates.try_recv() {
                        self.recorder.record(update);
                    }
                    return done;
                }
                Some(update) = self.updates.recv() => self.recorder.record(update),
            }
        }
    }
}

/// Prompts the agent with the texts of `prompt` and waits until it has answered or its time is over. Sends the permission `requests` to people
/// meanwhile.
pub(crate) async fn converse(
    agent: &Agent,
    prompt: &[&str],
    updates: mpsc::Sender<Update>,
    listener: &mut UpdateListener,
    requests: mpsc::Receiver<PendingRequest>,
    context: ConversationContext<'_>,
) -> PromptEnd {
    let ConversationContext {
        store,
        run,
        policies,
        deadline,
        ..
    } = context;
    let (approvals, mut pending) =
        ApprovalDriver::new(store, run, policies.approval_timeout(), deadline, requests);
    let mut approvals = pin!(approvals.run());
    let mut withdrawn = false;
    let end = {
        let mut conversation = pin!(prompt_and_watch(
            agent,
            prompt,
            updates,
            listener,
            context,
            &mut pending
        ));
        loop {
            // Both futures are polled in every round, because either may hold a resource that the other one waits
            // for. `approvals` comes first: it counts a new request before `conversation` checks whether the agent is
            // silent.
            tokio::select! {
                biased;
                () = &mut approvals, if !withdrawn => withdrawn = true,
                end = &mut conversation => break end,
            }
        }
    };
    // Withdraw the open requests while the agent's updates are still recorded. Not after the run is lost, because the
    // requests then belong to another worker.
    if !withdrawn && !matches!(end, PromptEnd::Stopped(Stop::Lost, _)) {
        pending.stop_waiting();
        listener.listen_during(approvals).await;
    }
    end
}

/// Prompts the agent and watches its limits, without the requests to people.
async fn prompt_and_watch(
    agent: &Agent,
    prompt: &[&str],
    updates: mpsc::Sender<Update>,
    listener: &mut UpdateListener,
    mut context: ConversationContext<'_>,
    pending: &mut PendingApprovals,
) -> PromptEnd {
    // 1. Send the prompt, and start the limits of time.
    let mut answer = pin!(agent.prompt(prompt, updates));
    let mut flush = interval(FLUSH_INTERVAL);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lease = agent.lease();
    let inactivity = context.policies.inactivity();
    let mut silent_until = Instant::now() + inactivity;
    let mut cancelling: Option<(CancelReason, Instant)> = None;
    let mut next_usage_write = Instant::now() + context.usage_write_interval;

    loop {
        // 2. Wait for the next event. An agent that was asked to cancel needs no more answers; open requests would keep
        // people busy in vain.
        if cancelling.is_some() {
            pending.stop_waiting();
        }
        let give_up = cancelling
            .as_ref()
            .map_or(context.deadline, |(_, until)| *until);
        // `biased` polls the arms in their order, and that order matters. Deadline and orders come first, because an
        // agent that sends updates without a pause must not hide them. Silence comes last, because an agent whose
        // updates wait in the channel is not silent.
        tokio::select! {
            biased;
            () = sleep_until(give_up) => {
                // The agent did not end its turn within the grace.
                if let Some((reason, _)) = cancelling {
                    return reason.into_prompt_end(false);
                }
                agent.cancel();
                cancelling = Some((CancelReason::Timeout, Instant::now() + context.cancel_grace));
            }
            Ok(()) = context.heartbeat.changed() => {
                let state = context.heartbeat.borrow_and_update().clone();
                // Renewing fails only if the guard has ended, and then the answer of the prompt reports that.
                lease.renew(state.lease()).ok();
                match state.stop {
                    // Return without a grace, because another worker may claim the run at any moment.
                    Some(Stop::Lost) => return PromptEnd::Stopped(Stop::Lost, false),
                    Some(stop) if cancelling.is_none() => {
                        agent.cancel();
                        cancelling = Some((CancelReason::Stop(stop), Instant::now() + context.cancel_grace));
                    }
                    _ => {}
                }
            }
            _ = flush.tick() => {
                #[cfg(feature = "failpoints")]
                failpoint::reached("turn: prompted");
                if write_progress(context.store, context.run, &mut listener.recorder).await == WriteOutcome::Fenced {
                    return PromptEnd::Stopped(Stop::Lost, false);
                }
                let uncounted = listener.recorder.turn_usage().saturating_sub(&context.accounts.counted);
                // Minutes pass in other turns, too, so a budget of minutes is read again even without new usage.
                let is_stale = !uncounted.is_none() || context.accounts.has_minutes();
                if Instant::now() >= next_usage_write && is_stale {
                    next_usage_write = Instant::now() + context.usage_write_interval;
                    let counted = write_usage(context.store, context.run, &mut context.accounts, &listener.recorder);
                    if counted.await == WriteOutcome::Fenced {
                        return PromptEnd::Stopped(Stop::Lost, false);
                    }
                }
            }
            // Updates from before the answer are still in the listener's channel; `listen_during` records them.
            end = &mut answer => return resolve_end(cancelling, end),
            Some(update) = listener.updates.recv() => {
                silent_until = Instant::now() + inactivity;
                #[cfg(feature = "failpoints")]
                failpoint::reached("turn: answering");
                listener.recorder.record(update);
            }
            // An agent that waits for people is not silent. Once they have answered, the whole limit of silence
            // starts again.
            () = pending.changed(), if cancelling.is_none() => silent_until = Instant::now() + inactivity,
            () = sleep_until(silent_until), if cancelling.is_none() && !pending.is_any_pending() => {
                agent.cancel();
                cancelling = Some((CancelReason::Inactive, Instant::now() + context.cancel_grace));
            }
        }
        // 3. Check the budget after every event, because each recorded update may have raised the usage. The ticks of
        // `flush` bound the time between two checks of its minutes.
        if cancelling.is_none()
            && let Some(reached) = context
                .accounts
                .limit_reached_during_turn(listener.recorder.turn_usage(), context.began.elapsed())
        {
            agent.cancel();
            cancelling = Some((
                CancelReason::Budget(reached),
                Instant::now() + context.cancel_grace,
            ));
        }
    }
}

/// Combines the agent's answer with the reason to cancel, if the agent was asked to cancel.
fn resolve_end(
    cancelling: Option<(CancelReason, Instant)>,
    end: Result<StopReason, PromptError>,
) -> PromptEnd {
    match (cancelling, end) {
        (None, end) => PromptEnd::Completed(end),
        // The agent ended its turn before it noticed the cancellation, so its answer counts.
        (Some((CancelReason::Stop(_) | CancelReason::Budget(_), _)), Ok(StopReason::EndTurn)) => {
            PromptEnd::Completed(Ok(StopReason::EndTurn))
        }
        (Some((reason, _)), end) => reason.into_prompt_end(end.is_ok()),
    }
}

/// Writes the rows and the live text that are not written yet. A write that fails is retried at the next flush.
async fn write_progress(
    store: &dyn TurnStore,
    run: RunId,
    recorder: &mut Recorder,
) -> WriteOutcome {
    let pending = recorder.pending().to_vec();
    if !pending.is_empty() {
        let count = pending.len();
        match with_write_timeout(store.record(run, pending)).await {
            Ok(WriteOutcome::Committed) => recorder.remove_written(count),
            Ok(WriteOutcome::Fenced) => return WriteOutcome::Fenced,
            Err(error) => log_warning(run, &error, "record the progress"),
        }
    }
    let (position, text) = recorder.unsent_text();
    if !text.is_empty() {
        let (text, bytes) = (text.to_owned(), text.len());
        match with_write_timeout(store.append_live_text(run, position, text)).await {
            Ok(WriteOutcome::Committed) => recorder.mark_sent(bytes),
            Ok(WriteOutcome::Fenced) => return WriteOutcome::Fenced,
            Err(error) => log_warning(run, &error, "record the progress"),
        }
    }
    WriteOutcome::Committed
}

/// Writes the usage of the turn so far, if its agent has reported any, and reads the usage of other turns. A write that
/// fails is retried the next time.
async fn write_usage(
    store: &dyn TurnStore,
    run: RunId,
    accounts: &mut Accounts,
    recorder: &Recorder,
) -> WriteOutcome {
    let usage = recorder.usage().cloned().unwrap_or_else(|| json!({}));
    match with_write_timeout(store.record_usage(run, usage)).await {
        Ok(Some(current)) => *accounts = current,
        Ok(None) => return WriteOutcome::Fenced,
        Err(error) => log_warning(run, &error, "record the usage"),
    }
    WriteOutcome::Committed
}
