//! A server: the loops of this process, and the API over what they do.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use api::{Listener, Served};
use axum::Router;
use client::Client;
use daemon::{Daemon, Waker};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    data_folder::ServeLock, error::Error, host::host, local::Local, socket::PrivateSocket,
    taking_over::take_over,
};

/// How a server is reached beside its private socket.
#[derive(Debug, Default)]
pub struct Reach {
    /// Where it listens, if anywhere.
    pub listener: Option<TcpListener>,
    /// Names beside those of loopback by which it is reached.
    pub hosts: Vec<String>,
    /// Whether it is reached through a proxy that does TLS.
    pub by_tls: bool,
}

/// The loops of this process, and the API over what they do. One for each data folder.
pub struct Server {
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
    pub async fn start(local: &Local, reach: Reach, lock: ServeLock) -> Result<Self, Error> {
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
        let socket = socket.map_err(|source| Error::File {
            action: "listen in",
            path: folder.to_owned(),
            source,
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
    pub fn client(&self, local: &Local) -> Client {
        local.client_of(self.routes.clone())
    }

    /// The address at which it is reached, if there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.network.as_ref().and_then(Served::address)
    }

    /// Cancelled when a loop has died: nothing is fired or taken any more.
    pub fn ended(&self) -> CancellationToken {
        self.daemon.ended()
    }

    /// What makes a stop hand running turns back at once.
    pub fn hurry(&self) -> CancellationToken {
        self.daemon.hurry()
    }

    /// Stops: turns that run may end until the deadline, and are then handed back.
    pub async fn stop(self) -> daemon::Stopped {
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
