//! Single turns without a server.

use std::{pin::pin, time::Duration};

use api_types::{Run, RunView, Waiting};
use client::Client;
use daemon::{Host, Waker};
use model::{RunId, run::RunStatus};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{error::Error, host::host, local::Local, socket::PrivateSocket};

/// How often what stands before a run is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Takes the turn of a run in this process, and before it those of the runs that it waits for and that
/// nobody else takes. Gives the last attempt at it, over or, when `stop` came first, as it stands. The API is
/// served at a socket of the process meanwhile, for the agents that it runs.
pub async fn take_turn(
    local: &Local,
    client: &Client,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Error> {
    let host = host(local)?;
    let folder = local.folder.path();
    let closing = CancellationToken::new();
    let routes = api::router(local.api().stopped_by(closing.clone()).build());
    let socket = PrivateSocket::of_process(folder, routes, closing.clone());
    let socket = socket.map_err(|source| Error::File {
        action: "listen in",
        path: folder.to_owned(),
        source,
    })?;
    if let Some(fleet) = local.fleet.clone() {
        // A turn may take long, and clocks drift.
        let keeping = fleet.keep(host.clone(), Waker::default(), closing.clone());
        tokio::spawn(keeping);
    }
    let taken = Box::pin(take_with(&host, client, run, stop)).await;
    closing.cancel();
    socket.stop().await;
    taken
}

async fn take_with(
    host: &Host,
    client: &Client,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Error> {
    let mut taken = pin!(daemon::take_one(host, run, stop.clone()));
    loop {
        let before = tokio::select! {
            biased;
            ended = &mut taken => return ended.map(Into::into).map_err(Error::Daemon),
            before = what_stands_before(client, run) => before?,
        };
        // Both go on: the one that waits may be called off, or taken by somebody else, meanwhile.
        let mut other = pin!(daemon::take_one(host, before, stop.clone()));
        tokio::select! {
            ended = &mut taken => {
                // A turn that was begun is brought to its end.
                let other = other.await;
                return ended.and_then(|run| other.map(|_| run.into())).map_err(Error::Daemon);
            }
            over = &mut other => {
                over.map_err(Error::Daemon)?;
            }
        }
    }
}

/// Waits until the newest attempt at a run's input waits for another run that waits for a worker.
async fn what_stands_before(client: &Client, run: RunId) -> Result<RunId, Error> {
    loop {
        let newest = newest_attempt(client, run).await?;
        if let Some(Waiting::Run {
            run,
            status: RunStatus::Queued,
            ..
        }) = newest.waiting
        {
            return Ok(run);
        }
        sleep(LOOK).await;
    }
}

/// The newest attempt at the input of a run: the run itself, unless it was tried again.
pub async fn newest_attempt(client: &Client, run: RunId) -> Result<RunView, client::Error> {
    let view = client.run(&run.to_string()).await?;
    match view.attempts.last() {
        Some(newest) if newest.id != view.run.id => client.run(&newest.id.to_string()).await,
        _ => Ok(view),
    }
}
