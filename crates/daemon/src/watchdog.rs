//! Gives up runs whose worker is lost, so that their inputs are taken up again.

use model::{RunId, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host, Waker, process::is_gone, runner};

/// One look: runs whose heartbeat is stale, and those whose worker was a process of this machine that
/// is gone. Gives the runs that were given up.
pub(crate) async fn tick(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let stale_before = now.saturating_sub(host.settings.heartbeat_stale);
    let mut stalled = host.store.stall(stale_before, now).await?;
    for (run, worker) in host.store.executing_on(host.instance).await? {
        if is_gone(&worker, &host.worker) && host.store.stall_run(run, &worker, now).await? {
            stalled.push(run);
        }
    }
    for run in &stalled {
        tracing::warn!(%run, "gave up {run}: its worker is lost");
    }
    Ok(stalled)
}

/// Looks at its own period, and when the oldest heartbeat can have become stale.
pub(crate) async fn run(host: Host, waker: Waker, stop: CancellationToken) {
    let longest = host.settings.watchdog;
    // Nobody wakes the watchdog: what it looks for is that nothing happens.
    let never = std::sync::Arc::new(tokio::sync::Notify::new());
    runner::run("watchdog", &host, longest, &never, &stop, async |now| {
        if !tick(&host, now).await?.is_empty() {
            waker.scheduler.notify_one();
            waker.pool.notify_one();
        }
        let oldest = host.store.oldest_heartbeat().await?;
        Ok(oldest.map(|at| at + host.settings.heartbeat_stale))
    })
    .await;
}
