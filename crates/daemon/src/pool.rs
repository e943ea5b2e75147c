//! The worker pool: claims queued runs and takes as many turns at once as there are slots.
//!
//! **Invariants:** the pool claims only as many runs as it has free slots. A run that this worker has claimed is
//! always either under way in this process or, after a claim with a lost answer, found again by `start_unregistered`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use model::RunId;
use tokio::{
    sync::Notify,
    task::{Id, JoinError, JoinSet, yield_now},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use turn::{Ended, Orders};

use crate::{Error, Host, Settings, Waker, turns, waits::Waits};

/// The pause after a failed claim.
const CLAIM_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The time after a failed claim during which its transaction may still be committed, because the database may only
/// have been slow to answer.
const UNSURE: Duration = Duration::from_mins(2);

/// The turns that were running when the server stopped, counted by how they ended. Turns that were lost, did not
/// begin or panicked are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Turns that came to their end.
    pub finished: u32,
    /// Turns that were ended early and whose runs were requeued.
    pub handed_back: u32,
}

/// Claims runs and takes their turns until `stop` is cancelled, then waits for the running turns to end.
pub(crate) async fn run(
    host: Host,
    waker: Waker,
    stop: CancellationToken,
    requeue: CancellationToken,
) -> Stopped {
    let (claim, beats) = (Arc::clone(&waker.pool), Arc::clone(&waker.beats));
    let mut turns = Turns {
        waits: Waits::ringing(Arc::clone(&waker.pool)),
        host,
        waker,
        requeue,
        set: JoinSet::new(),
        under_way: HashMap::new(),
        claim_in_doubt_until: None,
    };
    while !stop.is_cancelled() {
        let net = match turns.claim().await {
            Ok(()) => turns.host.settings.tick,
            Err(error) => {
                // The error does not say whether the claim was committed. Without this note, committed runs would
                // keep their heartbeats unrenewed and be given up although this worker lives.
                turns.claim_in_doubt_until = Some(Instant::now() + UNSURE);
                turns.host.metrics.failed("workers");
                report("claim runs, will try again", &error);
                CLAIM_RETRY_PAUSE
            }
        };
        tokio::select! {
            () = claim.notified() => {}
            () = beats.notified() => turns.beat(),
            _ = turns.ended() => turns.drain_ended().await,
            () = sleep(net) => {}
            () = stop.cancelled() => {}
        }
    }
    // Heartbeat requests are still served while the last turns end: a turn may be cancelled during a stop.
    let mut stopped = Stopped::default();
    while !turns.set.is_empty() {
        tokio::select! {
            ended = turns.ended() => match ended {
                Some(Ended::Requeued) => stopped.handed_back += 1,
                Some(Ended::Finished) => stopped.finished += 1,
                _ => {}
            },
            () = beats.notified() => turns.beat(),
        }
    }
    stopped
}

/// The running turns of one worker.
struct Turns {
    waits: Waits,
    host: Host,
    waker: Waker,
    requeue: CancellationToken,
    set: JoinSet<Option<Ended>>,
    under_way: HashMap<Id, TurnTask>,
    /// The end of the period in which this worker may own runs that it does not know of, because the answer to a
    /// claim was lost. `None` if no claim is in doubt.
    claim_in_doubt_until: Option<Instant>,
}

/// A running turn.
struct TurnTask {
    /// The claimed run.
    run: RunId,
    /// Makes the turn send its heartbeat at once, so that it learns of a cancellation without delay.
    beat: Arc<Notify>,
}

impl Turns {
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
        if let Some(until) = self.claim_in_doubt_until {
            // Taken before the query, so that one query runs after the end of the period: a claim that was committed
            // at the last moment is still found.
            let over = Instant::now() >= until;
            self.start_unregistered().await?;
            self.claim_in_doubt_until = Some(until).filter(|_| !over);
        }
        let running = u32::try_from(self.set.len()).unwrap_or(u32::MAX);
        let lent = self.waits.turns().min(waiting_turns);
        let free = workers.saturating_sub(running.saturating_sub(lent));
        if free == 0 {
            return Ok(());
        }
        for run in turns::claim(&self.host, free, None).await? {
            self.start(run.run);
        }
        Ok(())
    }

    /// Starts the turns of the runs that this worker has claimed and does not know of.
    async fn start_unregistered(&mut self) -> Result<(), Error> {
        let known: HashSet<RunId> = self.under_way.values().map(|turn| turn.run).collect();
        let claimed = self.host.store.runs_claimed_by(&self.host.worker).await?;
        for run in claimed {
            if !known.contains(&run) {
                tracing::warn!(%run, "the answer to the claim of {run} was lost, it is taken up now");
                self.start(run);
            }
        }
        Ok(())
    }

    fn start(&mut self, run: RunId) {
        let beat = Arc::new(Notify::new());
        let orders = Orders {
            requeue: self.requeue.clone(),
            beat: Arc::clone(&beat),
        };
        let (host, waits) = (self.host.clone(), self.waits.clone());
        let handle = self.set.spawn(async move {
            match turns::take(&host, run, &orders, &waits).await {
                Ok(ended) => Some(ended),
                Err(error) => {
                    report(&format!("take the turn of {run}"), &error);
                    None
                }
            }
        });
        self.under_way.insert(handle.id(), TurnTask { run, beat });
    }

    /// Waits for a turn to end, and wakes the scheduler. Never returns if no turn runs.
    async fn ended(&mut self) -> Option<Ended> {
        match self.set.join_next_with_id().await {
            Some(joined) => self.left(joined),
            None => std::future::pending().await,
        }
    }

    /// Removes all other turns that have ended by now. Several ends usually share one transaction, so that one claim
    /// can fill all their slots instead of one claim for each.
    async fn drain_ended(&mut self) {
        // Let the tasks that the same transaction has completed run to their ends first.
        yield_now().await;
        while let Some(joined) = self.set.try_join_next_with_id() {
            self.left(joined);
        }
    }

    fn left(&mut self, joined: Result<(Id, Option<Ended>), JoinError>) -> Option<Ended> {
        let (id, ended) = match joined {
            Ok((id, ended)) => (id, ended),
            Err(error) => {
                // The run is not ended here. Its heartbeat is no longer renewed, so the watchdog gives the run up
                // once that heartbeat is stale.
                tracing::error!(%error, "a turn panicked");
                (error.id(), None)
            }
        };
        self.under_way.remove(&id);
        // The end of the run may have queued a retry with a backoff, which the scheduler must wait for.
        self.waker.scheduler.notify_one();
        ended
    }

    /// Makes every running turn send its heartbeat at once.
    fn beat(&self) {
        for turn in self.under_way.values() {
            turn.beat.notify_one();
        }
    }
}

fn report(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "failed to {what}");
}
