//! A server: the daemon of this process, and the API over its data folder.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use api::{Listener, ServerHandle};
use axum::Router;
use client::Client;
use daemon::{Daemon, LoopSignals};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    boxed, data_folder::ServeLock, error::Error, host::host, instance_claim::claim_instance,
    local_instance::LocalInstance, socket::PrivateSocket, tools_socket::ToolsSocket,
};

/// The network access to a server, in addition to its private socket.
#[derive(Debug, Default)]
pub struct NetworkAccess {
    /// The listener for TCP connections. `None` if the server has only its private socket.
    pub listener: Option<TcpListener>,
    /// The accepted host names, in addition to those of the loopback interface.
    pub hosts: Vec<String>,
    /// `true` if clients connect through a proxy that terminates TLS.
    pub behind_tls_proxy: bool,
}

/// A running server. A data folder has at most one.
pub struct Server {
    daemon: Daemon,
    routes: Router,
    socket: PrivateSocket,
    network: Option<ServerHandle>,
    /// Serves the tools of agents until the daemon has stopped.
    _tools: ToolsSocket,
    /// Ends event streams and stops the listeners when it is cancelled.
    closing: CancellationToken,
    /// Held until the server is dropped, so that no second server starts on the folder.
    _lock: ServeLock,
}

impl Server {
    /// Starts a server on a data folder. The caller must hold the lock of the folder and passes it on.
    ///
    /// # Errors
    ///
    /// Returns [`Error::DuplicateInstance`] if another server serves a copy of the folder, and
    /// [`Error::ProgramOutdated`] if the database requires a newer version of this program.
    #[boxed]
    pub async fn start(
        local: &LocalInstance,
        access: NetworkAccess,
        lock: ServeLock,
    ) -> Result<Self, Error> {
        // 1. Claim the instance in the database, before anything of this server is visible.
        let (host, tools) = host(local)?;
        claim_instance(local, &host.worker).await?;
        let signals = LoopSignals::default();
        let wake_signals = signals.clone();
        let closing = CancellationToken::new();
        // 2. Build the API. Until the daemon starts, `ready` finds no token here and reports `false`.
        let loops: Arc<OnceLock<CancellationToken>> = Arc::default();
        let live = Arc::clone(&loops);
        let api = local
            .api()
            .with_worker_loops(Arc::new(move || wake_signals.wake()))
            .with_liveness_check(Arc::new(move || {
                live.get().is_some_and(|ended| !ended.is_cancelled())
            }))
            .with_metrics(host.metrics.clone())
            .with_stop_token(closing.clone())
            .with_hosts(&access.hosts, access.behind_tls_proxy);
        let routes = api::router(api.build());
        let folder = local.folder.path();
        // 3. Listen, before the daemon claims any turn: the commands of people reach the API through the socket, so a
        // server without a socket must not start.
        let socket = PrivateSocket::of_server(folder, routes.clone(), closing.clone());
        let socket = socket.map_err(|source| Error::File {
            action: "listen in",
            path: folder.to_owned(),
            source,
        })?;
        let network = access
            .listener
            .map(|it| api::serve(Listener::Tcp(it), routes.clone(), closing.clone()));
        // 4. Start the daemon last.
        let daemon = Daemon::start_with_clock(host, signals, local.fleet_clock.clone());
        loops.get_or_init(|| daemon.loop_ended());
        Ok(Self {
            daemon,
            routes,
            socket,
            network,
            _tools: tools,
            closing,
            _lock: lock,
        })
    }

    /// Returns a client that calls the API of the server inside this process.
    pub fn client(&self, local: &LocalInstance) -> Client {
        local.in_process_client(self.routes.clone())
    }

    /// Returns the network address of the server. Returns `None` if it has no network listener.
    pub fn address(&self) -> Option<SocketAddr> {
        self.network.as_ref().and_then(ServerHandle::address)
    }

    /// Returns a token that is cancelled when a loop of the daemon has died. From then on the server creates no runs
    /// and takes no turns.
    pub fn failed_token(&self) -> CancellationToken {
        self.daemon.loop_ended()
    }

    /// Returns a token that makes [`Self::stop`] requeue running turns at once instead of waiting for the deadline.
    pub fn requeue_token(&self) -> CancellationToken {
        self.daemon.requeue_token()
    }

    /// Stops the server. Running turns may finish until the deadline; after it the server requeues their runs.
    #[boxed]
    pub async fn stop(self) -> daemon::StopSummary {
        // Cancel first, so that status requests no longer report a server, and so that no open event stream delays
        // the stop.
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
