//! Workers: as many turns at once as there are slots.

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

/// How long to wait after a claim that failed.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// For how long a claim that failed may still be done: whoever it was sent to may only be slow.
const UNSURE: Duration = Duration::from_mins(2);

/// What became of the turns that ran when the server stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Turns that ended.
    pub finished: u32,
    /// Turns that were handed back.
    pub handed_back: u32,
}

/// Claims and executes until it is stopped, then waits for what runs.
pub(crate) async fn run(
    host: Host,
    waker: Waker,
    stop: CancellationToken,
    hand_back: CancellationToken,
) -> Stopped {
    let (claim, beats) = (Arc::clone(&waker.pool), Arc::clone(&waker.beats));
    let mut turns = Turns {
        waits: Waits::ringing(Arc::clone(&waker.pool)),
        host,
        waker,
        hand_back,
        set: JoinSet::new(),
        under_way: HashMap::new(),
        unsure_until: None,
    };
    while !stop.is_cancelled() {
        let net = match turns.claim().await {
            Ok(()) => turns.host.settings.tick,
            Err(error) => {
                turns.unsure_until = Some(Instant::now() + UNSURE);
                turns.host.metrics.failed("workers");
                report("claim runs, will try again", &error);
                AFTER_ERROR
            }
        };
        tokio::select! {
            () = claim.notified() => {}
            () = beats.notified() => turns.beat(),
            _ = turns.ended() => turns.ended_beside().await,
            () = sleep(net) => {}
            () = stop.cancelled() => {}
        }
    }
    let mut stopped = Stopped::default();
    while !turns.set.is_empty() {
        tokio::select! {
            ended = turns.ended() => match ended {
                Some(Ended::HandedBack) => stopped.handed_back += 1,
                Some(Ended::Finished) => stopped.finished += 1,
                _ => {}
            },
            () = beats.notified() => turns.beat(),
        }
    }
    stopped
}

/// The turns that run.
struct Turns {
    waits: Waits,
    host: Host,
    waker: Waker,
    hand_back: CancellationToken,
    set: JoinSet<Option<Ended>>,
    under_way: HashMap<Id, UnderWay>,
    /// Until when runs may become this worker's of which it does not know: the answer to a claim may have been
    /// lost, whether it was done by then or not.
    unsure_until: Option<Instant>,
}

/// A turn that runs.
struct UnderWay {
    run: RunId,
    /// Makes it ask at once what is wanted of it.
    beat: Arc<Notify>,
}

impl Turns {
    /// Claims as many runs as there are free slots, and starts their turns. Turns that wait for people lend
    /// theirs, up to a number; they go on whether a slot is free again by then or not, and nothing is claimed
    /// until there are no more than slots.
    async fn claim(&mut self) -> Result<(), Error> {
        let Settings {
            workers,
            waiting_turns,
            ..
        } = self.host.settings;
        if let Some(until) = self.unsure_until {
            let over = Instant::now() >= until;
            self.start_unknown().await?;
            self.unsure_until = Some(until).filter(|_| !over);
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

    /// Starts the turns of what this worker has claimed and does not know of.
    async fn start_unknown(&mut self) -> Result<(), Error> {
        let known: HashSet<RunId> = self.under_way.values().map(|turn| turn.run).collect();
        let claimed = self.host.store.claimed_by(&self.host.worker).await?;
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
            hand_back: self.hand_back.clone(),
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
        self.under_way.insert(handle.id(), UnderWay { run, beat });
    }

    /// Waits for a turn to end. What waited for it may start then.
    async fn ended(&mut self) -> Option<Ended> {
        match self.set.join_next_with_id().await {
            Some(joined) => self.left(joined),
            None => std::future::pending().await,
        }
    }

    /// Takes leave of the turns that have ended beside the last one: they share a transaction mostly, and one
    /// claim is to fill all their slots.
    async fn ended_beside(&mut self) {
        yield_now().await;
        while let Some(joined) = self.set.try_join_next_with_id() {
            self.left(joined);
        }
    }

    fn left(&mut self, joined: Result<(Id, Option<Ended>), JoinError>) -> Option<Ended> {
        let (id, ended) = match joined {
            Ok((id, ended)) => (id, ended),
            Err(error) => {
                tracing::error!(%error, "a turn panicked");
                (error.id(), None)
            }
        };
        self.under_way.remove(&id);
        self.waker.scheduler.notify_one();
        ended
    }

    /// Makes every running turn ask at once what is wanted of it.
    fn beat(&self) {
        for turn in self.under_way.values() {
            turn.beat.notify_one();
        }
    }
}

fn report(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "failed to {what}");
}
