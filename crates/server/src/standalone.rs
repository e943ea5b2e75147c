//! Takes single turns in processes without a server.

use std::{pin::pin, time::Duration};

use api_types::{BlockedOn, Run, RunView};
use client::Client;
use daemon::{Host, LoopSignals};
use model::{RunId, run::RunStatus};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{boxed, error::Error, host::host, local_instance::LocalInstance};

/// The interval at which this process polls for the run that blocks its own run.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Takes the turn of a run in this process. If the run waits for other queued runs that no server takes, takes their
/// turns first. Returns the last attempt at the run when it is over. If `stop` is cancelled earlier, returns the
/// attempt in its present state.
#[boxed]
pub async fn take_turn(
    local: &LocalInstance,
    client: &Client,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Error> {
    let (host, _tools) = host(local)?;
    let closing = CancellationToken::new();
    if let Some(fleet) = local.fleet_clock.clone() {
        // Keep the shared clock synchronized, because a turn may take long enough for the local clock to drift.
        let keeping =
            fleet.keep_synchronized(host.clone(), LoopSignals::default(), closing.clone());
        tokio::spawn(keeping);
    }
    let taken = Box::pin(take_with_blocking_runs(&host, client, run, stop)).await;
    closing.cancel();
    taken
}

/// Takes the turn of `run` and, one after another, the turns of the runs that block it.
async fn take_with_blocking_runs(
    host: &Host,
    client: &Client,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Error> {
    let mut taken = pin!(daemon::take_standalone_turn(host, run, stop.clone()));
    loop {
        let before = tokio::select! {
            biased;
            ended = &mut taken => return ended.map(Into::into).map_err(Error::Daemon),
            before = wait_for_blocking_run(client, run) => before?,
        };
        // Keep both futures running: while this process takes the blocking run, `run` may be cancelled or claimed by
        // another process.
        let mut other = pin!(daemon::take_standalone_turn(host, before, stop.clone()));
        tokio::select! {
            ended = &mut taken => {
                // Do not drop a turn that has begun, because its agent would be killed and its run left to lease
                // expiry.
                let other = other.await;
                return ended.and_then(|run| other.map(|_| run.into())).map_err(Error::Daemon);
            }
            over = &mut other => {
                over.map_err(Error::Daemon)?;
            }
        }
    }
}

/// Waits until another run blocks the newest attempt at `run` and is itself queued. Returns the ID of that run.
async fn wait_for_blocking_run(client: &Client, run: RunId) -> Result<RunId, Error> {
    loop {
        let newest = newest_attempt(client, run).await?;
        if let Some(BlockedOn::Run {
            run,
            status: RunStatus::Queued,
            ..
        }) = newest.blocked_on
        {
            return Ok(run);
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the newest attempt at the input of a run: the last retry, or the run itself if it was not retried.
#[boxed]
pub async fn newest_attempt(client: &Client, run: RunId) -> Result<RunView, client::Error> {
    let view = client.run(&run.to_string()).await?;
    match view.attempts.last() {
        Some(newest) if newest.id != view.run.id => client.run(&newest.id.to_string()).await,
        _ => Ok(view),
    }
}
