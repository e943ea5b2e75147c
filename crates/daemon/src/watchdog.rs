//! Gives up runs whose worker is lost, so that their inputs are taken up again.

use std::time::Duration;

use model::{RunId, Timestamp};
use tokio::time::Instant;

use crate::{Error, Host, Settings, Waker, runner::Look};

/// How much more than the time that has passed the clock may advance between two looks.
const CLOCK_DRIFT: Duration = Duration::from_secs(1);

/// One look: runs whose heartbeat is stale, and those whose worker was a process of this instance that
/// is gone. Gives the runs that were given up.
pub async fn tick(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let stale_before = now.saturating_sub(host.settings.heartbeat_stale);
    let mut given_up = host.store.stall(stale_before, now).await?;
    given_up.extend(give_up_gone(host, now).await?);
    Ok(given_up)
}

/// Gives up the runs whose worker was a process of this instance that is gone.
async fn give_up_gone(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let mut stalled = Vec::new();
    let executing = host.store.executing_on(host.instance).await?;
    let workers: Vec<_> = executing.iter().map(|(_, worker)| worker.clone()).collect();
    host.sign_of_life.tidy(&workers);
    for (run, worker) in executing {
        if !host.sign_of_life.is_gone(&worker) {
            continue;
        }
        sweep(run).await;
        if host.store.stall_run(run, &worker, now).await? {
            stalled.push(run);
        }
    }
    Ok(stalled)
}

/// Kills what a lost worker's agent has left. Its guard has done so unless it was killed as well, and
/// nothing of the old attempt may be alive when the next one starts.
async fn sweep(run: RunId) {
    let swept = tokio::task::spawn_blocking(move || agent::guard::sweep(&run.to_string())).await;
    match swept {
        Ok(Ok(0)) => {}
        Ok(Ok(killed)) => tracing::warn!(%run, killed, "killed {killed} processes left by {run}"),
        Ok(Err(error)) => tracing::error!(%run, %error, "failed to kill what {run} has left"),
        Err(error) => tracing::error!(%run, %error, "failed to look for what {run} has left"),
    }
}

/// Looks at heartbeats, and knows when the clock cannot be trusted with their age.
///
/// A clock that was set forward, or a machine that slept, makes every heartbeat look stale at once.
/// Those who live renew theirs within a period, and the agents of those who do not, because they are
/// frozen, are killed when their leases are over. So for as long as a lease only the dead are given up
/// who are known to be dead. Who has just begun to look cannot know what the clock did before, and
/// waits as long.
///
/// Not for other crates: public for the simulation, which has clocks of its own.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Watch {
    /// What the clock showed at the last look, and when that was.
    last: Option<(Timestamp, Instant)>,
    /// Until when heartbeats may look older than they are.
    doubtful_until: Option<Instant>,
    /// Whether the last look found no heartbeat.
    idle: bool,
}

impl Watch {
    /// One look, when the clock shows `now` and the process's own time is `at`. Gives the runs that
    /// were given up.
    pub async fn look(
        &mut self,
        host: &Host,
        now: Timestamp,
        at: Instant,
    ) -> Result<Vec<RunId>, Error> {
        let leapt = match self.last.replace((now, at)) {
            Some((shown, then)) => now.since(shown).saturating_sub(at - then),
            None => Duration::MAX,
        };
        if leapt > CLOCK_DRIFT {
            if leapt < Duration::MAX {
                tracing::warn!("the clock leapt by {leapt:?}: waiting for heartbeats");
            }
            self.doubtful_until = Some(at + host.settings.lease());
        }
        // Whatever a worker has has a heartbeat: without any there is nothing to give up.
        self.idle = host.store.oldest_heartbeat().await?.is_none();
        if self.idle {
            if !self.doubts(at) {
                self.doubtful_until = None;
            }
            return Ok(Vec::new());
        }
        let given_up = if self.doubts(at) {
            give_up_gone(host, now).await?
        } else {
            self.doubtful_until = None;
            tick(host, now).await?
        };
        for run in &given_up {
            tracing::warn!(%run, "gave up {run}: its worker is lost");
        }
        Ok(given_up)
    }

    /// Whether heartbeats may look older than they are.
    fn doubts(&self, at: Instant) -> bool {
        self.doubtful_until.is_some_and(|until| at < until)
    }
}

/// The watchdog of one server. It looks at its own period, and when the oldest heartbeat can have
/// become stale.
pub(crate) struct Watchdog {
    pub(crate) host: Host,
    pub(crate) waker: Waker,
    pub(crate) watch: Watch,
}

impl Look for Watchdog {
    const NAME: &'static str = "watchdog";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !self
            .watch
            .look(&self.host, now, Instant::now())
            .await?
            .is_empty()
        {
            self.waker.scheduler.notify_one();
            self.waker.pool.notify_one();
        }
        let Settings {
            heartbeat,
            heartbeat_stale,
            ..
        } = self.host.settings;
        if self.watch.idle {
            return Ok(None);
        }
        if self.watch.doubtful_until.is_some() {
            self.waker.beats.notify_one();
            return Ok(Some(now + heartbeat + CLOCK_DRIFT));
        }
        let oldest = self.host.store.oldest_heartbeat().await?;
        // One that is exactly as old as it may be is not stale yet.
        Ok(oldest.map(|at| at + heartbeat_stale + Duration::from_micros(1)))
    }
}
