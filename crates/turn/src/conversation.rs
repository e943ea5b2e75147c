//! The conversation of one turn: sends the prompt, records the updates, and cancels the prompt at a limit or an order
//! to stop.
//!
//! After the agent was asked to cancel, it has a grace to end its turn; then the conversation ends without its
//! answer.

use std::{pin::pin, time::Duration};

use agent::{Agent, PromptError, Update};
use model::{
    RunId,
    budget::{Accounts, Reached},
    outcome::StopReason,
    policy::Policies,
    turn::Settled,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use crate::{
    asking::{Asking, Waiting},
    ledger::Ledger,
    patience::in_time,
    permissions::Enquiry,
    pulse::{Pulse, Stop},
    recorder::Recorder,
    warn,
};

/// The shortest pause between two writes of live text and transcript rows.
const FLUSH: Duration = Duration::from_millis(200);

/// The most updates that wait between the reader of the agent's output and the recorder.
const MAX_QUEUED_UPDATES: usize = 256;

/// The end of a prompt. The flags are `true` if the agent still ended its turn.
pub(crate) enum End {
    /// The agent answered, or the prompt failed.
    Answered(Result<StopReason, PromptError>),
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
enum Asked {
    Stop(Stop),
    Inactive,
    Timeout,
    Budget(Reached),
}

impl Asked {
    fn end(self, ended: bool) -> End {
        match self {
            Self::Stop(stop) => End::Stopped(stop, ended),
            Self::Inactive => End::Inactive(ended),
            Self::Timeout => End::Timeout(ended),
            Self::Budget(reached) => End::Budget(reached.to_string(), ended),
        }
    }
}

/// The ledger, the run and the limits of a conversation.
pub(crate) struct Setting<'a> {
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) run: RunId,
    pub(crate) policies: &'a Policies,
    pub(crate) deadline: Instant,
    pub(crate) pulse: watch::Receiver<Pulse>,
    /// The budgets that limit the turn, with their usage so far.
    pub(crate) accounts: Accounts,
    /// The shortest pause between two writes of the turn's usage. Each write also returns the usage of other turns.
    pub(crate) usage_write_interval: Duration,
    /// The time that the agent has to end its turn after it was asked to cancel.
    pub(crate) cancel_grace: Duration,
}

/// The receiver that brings the agent's updates into a recorder.
pub(crate) struct Listener {
    updates: mpsc::Receiver<Update>,
    pub(crate) recorder: Recorder,
}

impl Listener {
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
                        self.recorder.take(update);
                    }
                    return done;
                }
                Some(update) = self.updates.recv() => self.recorder.take(update),
            }
        }
    }
}

/// Prompts the agent and waits until it has answered or its time is over. Sends the requests from `asked` to people
/// meanwhile.
pub(crate) async fn converse(
    agent: &Agent,
    prompt: &str,
    told: mpsc::Sender<Update>,
    listener: &mut Listener,
    asked: mpsc::Receiver<Enquiry>,
    setting: Setting<'_>,
) -> End {
    let Setting {
        ledger,
        run,
        policies,
        deadline,
        ..
    } = setting;
    let (asking, mut waiting) = Asking::new(ledger, run, policies.ask(), deadline, asked);
    let mut asking = pin!(asking.go_on());
    let mut withdrawn = false;
    let end = {
        let mut talk = pin!(talk(agent, prompt, told, listener, setting, &mut waiting));
        loop {
            // Both futures are polled in every round, because either may hold a resource that the other one waits
            // for. `asking` comes first: it counts a new request before `talk` checks whether the agent is silent.
            tokio::select! {
                biased;
                () = &mut asking, if !withdrawn => withdrawn = true,
                end = &mut talk => break end,
            }
        }
    };
    // Withdraw the open requests while the agent's updates are still recorded. Not after the run is lost, because the
    // requests then belong to another worker.
    if !withdrawn && !matches!(end, End::Stopped(Stop::Lost, _)) {
        waiting.give_up();
        listener.listen_during(asking).await;
    }
    end
}

/// Prompts the agent and watches its limits, without the requests to people.
async fn talk(
    agent: &Agent,
    prompt: &str,
    told: mpsc::Sender<Update>,
    listener: &mut Listener,
    mut setting: Setting<'_>,
    waiting: &mut Waiting,
) -> End {
    let mut answer = pin!(agent.prompt(prompt, told));
    let mut flush = interval(FLUSH);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lease = agent.lease();
    let inactivity = setting.policies.inactivity();
    let mut silent_until = Instant::now() + inactivity;
    let mut asked: Option<(Asked, Instant)> = None;
    let mut count_next = Instant::now() + setting.usage_write_interval;

    loop {
        // An agent that was asked to cancel needs no more answers; open requests would keep people busy in vain.
        if asked.is_some() {
            waiting.give_up();
        }
        let give_up = asked.as_ref().map_or(setting.deadline, |(_, until)| *until);
        // The order matters. Deadline and orders come first, because an agent that sends updates without a pause must
        // not hide them. Silence comes last, because an agent whose updates wait in the channel is not silent.
        tokio::select! {
            biased;
            () = sleep_until(give_up) => {
                // The agent did not end its turn within the grace.
                if let Some((asked, _)) = asked {
                    return asked.end(false);
                }
                agent.cancel();
                asked = Some((Asked::Timeout, Instant::now() + setting.cancel_grace));
            }
            Ok(()) = setting.pulse.changed() => {
                let pulse = setting.pulse.borrow_and_update().clone();
                // Renewing fails only if the guard has ended, and then the answer of the prompt reports that.
                lease.renew(pulse.lease()).ok();
                match pulse.stop {
                    // Return without a grace, because another worker may claim the run at any moment.
                    Some(Stop::Lost) => return End::Stopped(Stop::Lost, false),
                    Some(stop) if asked.is_none() => {
                        agent.cancel();
                        asked = Some((Asked::Stop(stop), Instant::now() + setting.cancel_grace));
                    }
                    _ => {}
                }
            }
            _ = flush.tick() => {
                #[cfg(feature = "failpoints")]
                failpoint::reached("turn: prompted");
                if write_progress(setting.ledger, setting.run, &mut listener.recorder).await == Settled::Lost {
                    return End::Stopped(Stop::Lost, false);
                }
                let uncounted = listener.recorder.spent().beyond(&setting.accounts.counted);
                if Instant::now() >= count_next && !uncounted.is_none() {
                    count_next = Instant::now() + setting.usage_write_interval;
                    let counted = count(setting.ledger, setting.run, &mut setting.accounts, &listener.recorder);
                    if counted.await == Settled::Lost {
                        return End::Stopped(Stop::Lost, false);
                    }
                }
            }
            // Updates from before the answer are still in the listener's channel; `listen_during` records them.
            end = &mut answer => return settle(asked, end),
            Some(update) = listener.updates.recv() => {
                silent_until = Instant::now() + inactivity;
                #[cfg(feature = "failpoints")]
                failpoint::reached("turn: answering");
                listener.recorder.take(update);
            }
            // An agent that waits for people is not silent. Once they have answered, the whole limit of silence
            // starts again.
            () = waiting.changed(), if asked.is_none() => silent_until = Instant::now() + inactivity,
            () = sleep_until(silent_until), if asked.is_none() && !waiting.any() => {
                agent.cancel();
                asked = Some((Asked::Inactive, Instant::now() + setting.cancel_grace));
            }
        }
        // The check follows every event, because each recorded update may have raised the usage.
        if asked.is_none()
            && let Some(reached) = setting.accounts.reached(listener.recorder.spent())
        {
            agent.cancel();
            asked = Some((
                Asked::Budget(reached),
                Instant::now() + setting.cancel_grace,
            ));
        }
    }
}

/// Combines the agent's answer with the reason to cancel, if the agent was asked to cancel.
fn settle(asked: Option<(Asked, Instant)>, end: Result<StopReason, PromptError>) -> End {
    match (asked, end) {
        (None, end) => End::Answered(end),
        // The agent ended its turn before it noticed the cancellation, so its answer counts.
        (Some((Asked::Stop(_) | Asked::Budget(_), _)), Ok(StopReason::EndTurn)) => {
            End::Answered(Ok(StopReason::EndTurn))
        }
        (Some((asked, _)), end) => asked.end(end.is_ok()),
    }
}

/// Writes the rows and the live text that are not written yet. A write that fails is retried at the next flush.
async fn write_progress(ledger: &dyn Ledger, run: RunId, recorder: &mut Recorder) -> Settled {
    let pending = recorder.pending().to_vec();
    if !pending.is_empty() {
        let count = pending.len();
        match in_time(ledger.record(run, pending)).await {
            Ok(Settled::Written) => recorder.written(count),
            Ok(Settled::Lost) => return Settled::Lost,
            Err(error) => warn(run, &error, "record the progress"),
        }
    }
    let (position, text) = recorder.unseen();
    if !text.is_empty() {
        let (text, bytes) = (text.to_owned(), text.len());
        match in_time(ledger.live(run, position, text)).await {
            Ok(Settled::Written) => recorder.seen(bytes),
            Ok(Settled::Lost) => return Settled::Lost,
            Err(error) => warn(run, &error, "record the progress"),
        }
    }
    Settled::Written
}

/// Writes the usage of the turn so far, and reads the usage of other turns. A write that fails is retried the next
/// time.
async fn count(
    ledger: &dyn Ledger,
    run: RunId,
    accounts: &mut Accounts,
    recorder: &Recorder,
) -> Settled {
    let Some(usage) = recorder.usage() else {
        return Settled::Written;
    };
    match in_time(ledger.spend(run, usage.clone())).await {
        Ok(Some(now)) => *accounts = now,
        Ok(None) => return Settled::Lost,
        Err(error) => warn(run, &error, "count what the turn uses"),
    }
    Settled::Written
}
