//! One prompt: telling the agent, taking what it says, and stopping it when it must stop.

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

/// How often text being written and rows of the transcript are flushed at the most.
const FLUSH: Duration = Duration::from_millis(200);

/// Updates that wait between the agent's output and here.
const WAITING_UPDATES: usize = 256;

/// How a prompt ended.
pub(crate) enum End {
    /// The agent answered, or failed to.
    Answered(Result<StopReason, PromptError>),
    /// It was stopped; whether the agent had ended its turn by then.
    Stopped(Stop, bool),
    /// It was silent for too long; whether it ended its turn when asked.
    Inactive(bool),
    /// It took too long; whether it ended its turn when asked.
    Timeout(bool),
    /// It used up a budget, which is said; whether it ended its turn when asked.
    Budget(String, bool),
}

/// Why the agent was asked to stop.
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

/// What a conversation needs beside the agent.
pub(crate) struct Setting<'a> {
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) run: RunId,
    pub(crate) policies: &'a Policies,
    pub(crate) deadline: Instant,
    pub(crate) pulse: watch::Receiver<Pulse>,
    /// What is left of the budgets that hold for the turn.
    pub(crate) accounts: Accounts,
    /// How often what the turn uses is counted at the most while it goes on, and what others use
    /// meanwhile is learned.
    pub(crate) counted_every: Duration,
    /// How long the agent may take to end its turn after it was asked to stop.
    pub(crate) cancel_grace: Duration,
}

/// Brings what an agent tells into a recorder.
pub(crate) struct Listener {
    updates: mpsc::Receiver<Update>,
    pub(crate) recorder: Recorder,
}

impl Listener {
    /// A listener, and where the agent is to tell.
    pub(crate) fn new(recorder: Recorder) -> (mpsc::Sender<Update>, Self) {
        let (sender, updates) = mpsc::channel(WAITING_UPDATES);
        (sender, Self { updates, recorder })
    }

    /// Takes what is told until the agent is gone.
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

/// Prompts the agent and stays until it has answered, or until waiting for it is over. Meanwhile people are
/// asked what comes from `asked`.
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
            // Both go on all the while, whatever the other one waits for. What is asked is counted before
            // the conversation looks whether anything waits.
            tokio::select! {
                biased;
                () = &mut asking, if !withdrawn => withdrawn = true,
                end = &mut talk => break end,
            }
        }
    };
    if !withdrawn && !matches!(end, End::Stopped(Stop::Lost, _)) {
        waiting.give_up();
        listener.listen_during(asking).await;
    }
    end
}

/// The conversation alone.
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
    let mut count_next = Instant::now() + setting.counted_every;

    loop {
        if asked.is_some() {
            waiting.give_up();
        }
        let give_up = asked.as_ref().map_or(setting.deadline, |(_, until)| *until);
        // In this order: an agent that talks without a pause must not keep its deadline, an order or
        // the end from being seen, and one whose words wait to be taken is not silent.
        tokio::select! {
            biased;
            () = sleep_until(give_up) => {
                if let Some((asked, _)) = asked {
                    return asked.end(false);
                }
                agent.cancel();
                asked = Some((Asked::Timeout, Instant::now() + setting.cancel_grace));
            }
            Ok(()) = setting.pulse.changed() => {
                let pulse = setting.pulse.borrow_and_update().clone();
                // Fails only if the guard is gone, and then the answer says so.
                lease.renew(pulse.lease()).ok();
                match pulse.stop {
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
                if flush_out(setting.ledger, setting.run, &mut listener.recorder).await == Settled::Lost {
                    return End::Stopped(Stop::Lost, false);
                }
                let uncounted = listener.recorder.spent().beyond(&setting.accounts.counted);
                if Instant::now() >= count_next && !uncounted.is_none() {
                    count_next = Instant::now() + setting.counted_every;
                    let counted = count(setting.ledger, setting.run, &mut setting.accounts, &listener.recorder);
                    if counted.await == Settled::Lost {
                        return End::Stopped(Stop::Lost, false);
                    }
                }
            }
            // What it told before waits in the listener.
            end = &mut answer => return settle(asked, end),
            Some(update) = listener.updates.recv() => {
                silent_until = Instant::now() + inactivity;
                #[cfg(feature = "failpoints")]
                failpoint::reached("turn: answering");
                listener.recorder.take(update);
            }
            // An agent that waits for people is not silent, and has all its time once they have answered.
            () = waiting.changed(), if asked.is_none() => silent_until = Instant::now() + inactivity,
            () = sleep_until(silent_until), if asked.is_none() && !waiting.any() => {
                agent.cancel();
                asked = Some((Asked::Inactive, Instant::now() + setting.cancel_grace));
            }
        }
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

/// What an answer means that may have been asked for.
fn settle(asked: Option<(Asked, Instant)>, end: Result<StopReason, PromptError>) -> End {
    match (asked, end) {
        (None, end) => End::Answered(end),
        // It was done before it heard: its own word stands.
        (Some((Asked::Stop(_) | Asked::Budget(_), _)), Ok(StopReason::EndTurn)) => {
            End::Answered(Ok(StopReason::EndTurn))
        }
        (Some((asked, _)), end) => asked.end(end.is_ok()),
    }
}

/// Writes what has come since the last time. What could not be written stays for the next time.
async fn flush_out(ledger: &dyn Ledger, run: RunId, recorder: &mut Recorder) -> Settled {
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

/// Counts what the turn has used so far, and learns what others have used. What could not be counted is
/// counted the next time.
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
