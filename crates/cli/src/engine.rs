//! Everything that takes turns: the loops of a server, and single turns without one.

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use agent::Grace;
use api::{Listener, Served};
use axum::Router;
use client::Client;
use daemon::{Daemon, Host, SignOfLife, Waker};
use model::{RunId, WorkerId, run::RunStatus};
use tokio::{net::TcpListener, time::sleep};
use tokio_util::sync::CancellationToken;
use wire::{Run, RunView, Waiting};

use crate::{
    data_folder::ServeLock,
    environment,
    failure::{Exit, Failure},
    local::Local,
    socket::PrivateSocket,
    system::hostname,
    taking_over::take_over,
};

/// The first argument of the processes that guard agents.
pub(crate) const GUARD: &str = "guard";
/// How often what stands before a run is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// What turns need.
fn host(local: &Local) -> Result<Host, Failure> {
    let settings = local.settings.clone();
    let worker = WorkerId::generate(&hostname(), std::process::id(), &*local.entropy);
    let workers = local.folder.workers();
    let sign_of_life = SignOfLife::give(&workers, &worker).map_err(|source| {
        Failure::environment(format!("use the folder {}", workers.display()), source)
    })?;
    Ok(Host {
        store: local.store.clone(),
        clock: local.clock.clone(),
        entropy: local.entropy.clone(),
        instance: local.instance,
        worker,
        sign_of_life: Arc::new(sign_of_life),
        agents: turn::Agents {
            guard: local.guard.clone(),
            environment: environment::for_agents(),
            clock: local.clock.clone(),
            entropy: local.entropy.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: Grace::default(),
        },
        settings,
        metrics: telemetry::Metrics::new(env!("CARGO_PKG_VERSION")),
    })
}

/// How a server is reached beside its private socket.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Where it listens, if anywhere.
    pub(crate) listener: Option<TcpListener>,
    /// Names beside those of loopback by which it is reached.
    pub(crate) hosts: Vec<String>,
    /// Whether it is reached through a proxy that does TLS.
    pub(crate) by_tls: bool,
}

/// The loops of this process, and the API over what they do. One for each data folder.
pub(crate) struct Server {
    daemon: Daemon,
    routes: Router,
    socket: PrivateSocket,
    network: Option<Served>,
    /// What ends streams and stops the listeners.
    closing: CancellationToken,
    _lock: ServeLock,
}

impl Server {
    /// Starts to serve a data folder whose lock is held.
    pub(crate) async fn start(
        local: &Local,
        reach: Reach,
        lock: ServeLock,
    ) -> Result<Self, Failure> {
        let host = host(local)?;
        take_over(local, &host.worker).await?;
        let waker = Waker::default();
        let woken = waker.clone();
        let closing = CancellationToken::new();
        // The loops start when everything else stands.
        let loops: Arc<OnceLock<CancellationToken>> = Arc::default();
        let live = Arc::clone(&loops);
        let api = local
            .api()
            .serving(Arc::new(move || woken.wake()))
            .ready(Arc::new(move || {
                live.get().is_some_and(|ended| !ended.is_cancelled())
            }))
            .metrics(host.metrics.clone())
            .stopped_by(closing.clone())
            .reached_by(&reach.hosts, reach.by_tls);
        let routes = api::router(api.build());
        let folder = local.folder.path();
        // Before any turn is claimed: without the socket there is no serving.
        let socket = PrivateSocket::of_server(folder, routes.clone(), closing.clone());
        let socket = socket.map_err(|source| {
            Failure::environment(format!("listen in {}", folder.display()), source)
        })?;
        let network = reach
            .listener
            .map(|it| api::serve(Listener::Tcp(it), routes.clone(), closing.clone()));
        let daemon = Daemon::start_in_fleet(host, waker, local.fleet.clone());
        loops.get_or_init(|| daemon.ended());
        Ok(Self {
            daemon,
            routes,
            socket,
            network,
            closing,
            _lock: lock,
        })
    }

    /// A client that asks it without leaving the process.
    pub(crate) fn client(&self, local: &Local) -> Client {
        local.client_of(self.routes.clone())
    }

    /// The address at which it is reached, if there is one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.network.as_ref().and_then(Served::address)
    }

    /// Cancelled when a loop has died: nothing is fired or taken any more.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.daemon.ended()
    }

    /// What makes a stop hand running turns back at once.
    pub(crate) fn hurry(&self) -> CancellationToken {
        self.daemon.hurry()
    }

    /// Stops: turns that run may end until the deadline, and are then handed back.
    pub(crate) async fn stop(self) -> daemon::Stopped {
        // From here on nobody is told that somebody serves, and no stream holds the stop up.
        self.closing.cancel();
        let closed = async {
            self.socket.stop().await;
            if let Some(network) = self.network {
                network.stop().await;
            }
        };
        let (stopped, ()) = tokio::join!(self.daemon.stop(), closed);
        stopped
    }
}

/// Takes the turn of a run in this process, and before it those of the runs that it waits for and that
/// nobody else takes. Gives the last attempt at it, over or, when `stop` came first, as it stands. The API is
/// served at a socket of the process meanwhile, for the agents that it runs.
pub(crate) async fn take_turn(
    local: &Local,
    client: &Client,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Failure> {
    let host = host(local)?;
    let folder = local.folder.path();
    let closing = CancellationToken::new();
    let routes = api::router(local.api().stopped_by(closing.clone()).build());
    let socket = PrivateSocket::of_process(folder, routes, closing.clone());
    let socket = socket.map_err(|source| {
        Failure::environment(format!("listen in {}", folder.display()), source)
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
) -> Result<Run, Failure> {
    let mut taken = pin!(daemon::take_one(host, run, stop.clone()));
    loop {
        let before = tokio::select! {
            biased;
            ended = &mut taken => return ended.map(Into::into).map_err(failed),
            before = what_stands_before(client, run) => before?,
        };
        // Both go on: the one that waits may be called off, or taken by somebody else, meanwhile.
        let mut other = pin!(daemon::take_one(host, before, stop.clone()));
        tokio::select! {
            ended = &mut taken => {
                // A turn that was begun is brought to its end.
                let other = other.await;
                return ended.and_then(|run| other.map(|_| run.into())).map_err(failed);
            }
            over = &mut other => {
                over.map_err(failed)?;
            }
        }
    }
}

/// Waits until the newest attempt at a run's input waits for another run that waits for a worker.
async fn what_stands_before(client: &Client, run: RunId) -> Result<RunId, Failure> {
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
pub(crate) async fn newest_attempt(client: &Client, run: RunId) -> Result<RunView, client::Error> {
    let view = client.run(&run.to_string()).await?;
    match view.attempts.last() {
        Some(newest) if newest.id != view.run.id => client.run(&newest.id.to_string()).await,
        _ => Ok(view),
    }
}

fn failed(error: daemon::Error) -> Failure {
    Failure::new(Exit::Environment, error)
}
