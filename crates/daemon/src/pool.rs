//! The worker pool: claims queued runs and takes as many turns at once as there are slots.
//!
//! **Invariants:** the pool claims only as many runs as it has free slots. A run that this worker has claimed is
//! always either under way in this process or, after a claim with a lost answer, found again by `start_unregistered`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use model::{RunId, turn::ClaimedRun};
use tokio::{
    sync::Notify,
    task::{Id, JoinError, JoinSet, yield_now},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use turn::{TurnControl, TurnEnd};

use crate::{Error, Host, LoopSignals, Settings, approval_waits::ApprovalWaits, turns};

/// The pause after a failed claim.
const CLAIM_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The time after a failed claim during which its transaction may still be committed, because the database may only
/// have been slow to answer.
const CLAIM_IN_DOUBT_PERIOD: Duration = Duration::from_mins(2);

/// The time for which the running turns are not requeued because a claim is under way.
const CLAIM_PATIENCE: Duration = Duration::from_secs(1);

/// The turns that were running when the server stopped, counted by how they ended. Turns that were lost, did not
/// begin or panicked are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopSummary {
    /// Turns that came to their end.
    pub finished: u32,
    /// Turns that were ended early and whose runs were requeued.
    pub requeued: u32,
}

/// Claims runs and takes their turns until `stop` is cancelled, then waits for the running turns to end.
pub(crate) async fn run(
    host: Host,
    signals: LoopSignals,
    stop: CancellationToken,
    requeue: CancellationToken,
) -> StopSummary {
    let (claim_signal, heartbeat_signal) =
        (Arc::clone(&signals.pool), Arc::clone(&signals.heartbeats));
    // A claim under way would take the requeued runs again, so that the turns learn of the requeue after it.
    let requeue_turns = CancellationToken::new();
    let mut turns = RunningTurns {
        approval_waits: ApprovalWaits::notifying(Arc::clone(&signals.pool)),
        host,
        signals,
        requeue: requeue_turns.clone(),
        tasks: JoinSet::new(),
        turns_by_task: HashMap::new(),
        claim_sent_at: agent::uptime(),
        claim_in_doubt: None,
    };
    // 1. Claim and take turns until the stop.
    while !stop.is_cancelled() {
        let claimed = {
            let mut claim = std::pin::pin!(turns.claim());
            tokio::select! {
                claimed = &mut claim => claimed,
                // The database may hang, and the agents must end nevertheless.
                () = async { requeue.cancelled().await; sleep(CLAIM_PATIENCE).await } => {
                    requeue_turns.cancel();
                    claim.await
                }
            }
        };
        let pause = match claimed {
            Ok(()) => turns.host.settings.tick,
            Err(error) => {
                // The error does not say whether the claim was committed. Without this note, committed runs would
                // keep their heartbeats unrenewed and be given up although this worker lives.
                turns.note_claim_in_doubt();
                turns.host.metrics.record_loop_error("workers");
                log_error("claim runs, will retry", &error);
                CLAIM_RETRY_PAUSE
            }
        };
        tokio::select! {
            // The stop goes first: a turn that it ended during a claim is counted below.
            biased;
            () = stop.cancelled() => {}
            () = heartbeat_signal.notified() => turns.request_heartbeats(),
            _ = turns.next_ended() => turns.drain_ended().await,
            () = claim_signal.notified() => {}
            () = sleep(pause) => {}
        }
    }
    // 2. Wait for the running turns. Heartbeat requests are still forwarded while the last turns end: a turn may be
    // cancelled during a stop.
    let mut stopped = StopSummary::default();
    while !turns.tasks.is_empty() {
        tokio::select! {
            ended = turns.next_ended() => match ended {
                Some(TurnEnd::Requeued) => stopped.requeued += 1,
                Some(TurnEnd::Finished) => stopped.finished += 1,
                _ => {}
            },
            () = requeue.cancelled(), if !requeue_turns.is_cancelled() => requeue_turns.cancel(),
            () = heartbeat_signal.notified() => turns.request_heartbeats(),
        }
    }
    stopped
}

/// The running turns of one worker.
struct RunningTurns {
    approval_waits: ApprovalWaits,
    host: Host,
    signals: LoopSignals,
    requeue: CancellationToken,
    tasks: JoinSet<Option<TurnEnd>>,
    turns_by_task: HashMap<Id, TurnTask>,
    /// The uptime before the last claim was sent.
    claim_sent_at: Duration,
    /// The claim whose answer was lost, so that this worker may own runs that it does not know of. `None` if no claim is
    /// in doubt.
    claim_in_doubt: Option<ClaimInDoubt>,
}

/// A claim whose answer was lost.
#[derive(Debug, Clone, Copy)]
struct ClaimInDoubt {
    /// The end of the period in which the claim may still be committed.
    until: Instant,
    /// The uptime before it was sent. If several claims are in doubt, that of the first one.
    sent_at: Duration,
}

/// A running turn.
struct TurnTask {
    /// The claimed run.
    run: RunId,
    /// Makes the turn send its heartbeat at once, so that it learns of a cancellation without delay.
    heartbeat_now: Arc<Notify>,
}

impl RunningTurns {
    /// Claims as many runs as there are free slots, and starts their turns.
    ///
    /// Turns that wait for an approval lend their slots, up to `Settings::waiting_turns`. A lent slot is not
    /// reserved: when such a turn goes on, more turns than slots may run, and the pool claims nothing until the
    /// excess has ended.
    async fn claim(&mut self) -> Result<(), Error> {
        let Settings {
            workers,
            waiting_turns,
            ..
        } = self.host.settings;
        if let Some(in_doubt) = self.claim_in_doubt {
            // Taken before the query, so that one query runs after the end of the period: a claim that was committed
            // at the last moment is still found.
            let is_over = Instant::now() >= in_doubt.until;
            self.start_unregistered(in_doubt.sent_at).await?;
            self.claim_in_doubt = Some(in_doubt).filter(|_| !is_over);
        }
        let running = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let lent = self.approval_waits.waiting_turns().min(waiting_turns);
        let free = workers.saturating_sub(running.saturating_sub(lent));
        if free == 0 {
            return Ok(());
        }
        self.claim_sent_at = agent::uptime();
        for run in turns::claim(&self.host, free, None).await? {
            self.start(run, self.claim_sent_at);
        }
        Ok(())
    }

    /// Notes that the last claim may have been committed although it failed.
    fn note_claim_in_doubt(&mut self) {
        let sent_at = self.claim_in_doubt.map(|earlier| earlier.sent_at);
        self.claim_in_doubt = Some(ClaimInDoubt {
            until: Instant::now() + CLAIM_IN_DOUBT_PERIOD,
            sent_at: sent_at.unwrap_or(self.claim_sent_at),
        });
    }

    /// Starts the turns of the runs that this worker has claimed and does not know of. None of their claims was sent
    /// before `sent_at`.
    async fn start_unregistered(&mut self, sent_at: Duration) -> Result<(), Error> {
        let registered: HashSet<RunId> = self.turns_by_task.values().map(|turn| turn.run).collect();
        let claimed = self.host.store.runs_claimed_by(&self.host.worker).await?;
        for claimed in claimed {
            let run = claimed.run;
            if !registered.contains(&run) {
                tracing::warn!(%run, "the reply to the claim of {run} was lost: its turn starts now");
                self.start(claimed, sent_at);
            }
        }
        Ok(())
    }

    fn start(&mut self, claimed: ClaimedRun, claim_sent_at: Duration) {
        let run = claimed.run;
        let heartbeat_now = Arc::new(Notify::new());
        let control = TurnControl {
            requeue: self.requeue.clone(),
            heartbeat_now: Arc::clone(&heartbeat_now),
            claim_sent_at,
        };
        let (host, waits) = (self.host.clone(), self.approval_waits.clone());
        let handle = self.tasks.spawn(async move {
            match turns::take_turn(&host, claimed, &control, &waits).await {
                Ok(ended) => Some(ended),
                Err(error) => {
                    log_error(&format!("take the turn of {run}"), &error);
                    None
                }
            }
        });
        self.turns_by_task
            .insert(handle.id(), TurnTask { run, heartbeat_now });
    }

    /// Waits for a turn to end, and wakes the scheduler. Never returns if no turn runs.
    async fn next_ended(&mut self) -> Option<TurnEnd> {
        match self.tasks.join_next_with_id().await {
            Some(joined) => self.remove_ended(joined),
            None => std::future::pending().await,
        }
    }

    /// Removes all other turns that have ended by now. Several ends usually share one transaction, so that one claim
    /// can fill all their slots instead of one claim for each.
    async fn drain_ended(&mut self) {
        // Let the tasks that the same transaction has completed run to their ends first.
        yield_now().await;
        while let Some(joined) = self.tasks.try_join_next_with_id() {
            self.remove_ended(joined);
        }
    }

    fn remove_ended(
        &mut self,
        joined: Result<(Id, Option<TurnEnd>), JoinError>,
    ) -> Option<TurnEnd> {
        let (id, ended) = match joined {
            Ok((id, ended)) => (id, ended),
            Err(error) => {
                // The run is not ended here. Its heartbeat is no longer renewed, so the watchdog gives the run up
                // once that heartbeat is stale.
                tracing::error!(%error, "a turn panicked");
                (error.id(), None)
            }
        };
        self.turns_by_task.remove(&id);
        // The end of the run may have queued a retry with a backoff, which the scheduler must wait for.
        self.signals.scheduler.notify_one();
        // The turn may have been the work of a task with checks.
        self.signals.checks.notify_one();
        ended
    }

    /// Makes every running turn send its heartbeat at once.
    fn request_heartbeats(&self) {
        for turn in self.turns_by_task.values() {
            turn.heartbeat_now.notify_one();
        }
    }
}

fn log_error(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "cannot {what}");
}
