//! Gives up runs whose worker is lost, so that their inputs are taken up again.

use model::{RunId, Timestamp};

use crate::{Error, Host, Waker, process::is_gone, runner::Look};

/// One look: runs whose heartbeat is stale, and those whose worker was a process of this machine that
/// is gone. Gives the runs that were given up.
pub async fn tick(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let stale_before = now.saturating_sub(host.settings.heartbeat_stale);
    let mut stalled = host.store.stall(stale_before, now).await?;
    for (run, worker) in host.store.executing_on(host.instance).await? {
        if !is_gone(&worker, &host.worker) {
            continue;
        }
        sweep(run).await;
        if host.store.stall_run(run, &worker, now).await? {
            stalled.push(run);
        }
    }
    for run in &stalled {
        tracing::warn!(%run, "gave up {run}: its worker is lost");
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

/// The watchdog of one server. It looks at its own period, and when the oldest heartbeat can have
/// become stale.
pub(crate) struct Watchdog {
    pub(crate) host: Host,
    pub(crate) waker: Waker,
}

impl Look for Watchdog {
    const NAME: &'static str = "watchdog";

    async fn look(&self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !tick(&self.host, now).await?.is_empty() {
            self.waker.scheduler.notify_one();
            self.waker.pool.notify_one();
        }
        let oldest = self.host.store.oldest_heartbeat().await?;
        Ok(oldest.map(|at| at + self.host.settings.heartbeat_stale))
    }
}
