//! A TCP proxy between a replica and the database, which can freeze or cut the connections.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
};

/// The behavior of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Forwards all data in both directions.
    Open,
    /// Forwards no data but keeps all connections open, so that neither side notices the fault.
    Frozen,
    /// Closes all connections, and closes new ones at once.
    Cut,
}

/// A running proxy. It accepts no more connections when the value is dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    mode: watch::Sender<Mode>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy on a free port that forwards to the port `to` of this machine.
    pub(crate) async fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (mode, mode_changes) = watch::channel(Mode::Open);
        let task = tokio::spawn(accept_connections(
            listener,
            SocketAddr::from(([127, 0, 0, 1], to)),
            mode_changes,
        ));
        Ok(Self { port, mode, task })
    }

    /// `true` if the proxy forwards any connection. The listener has one receiver of the mode, and each connection
    /// has at least one more.
    pub(crate) fn has_connections(&self) -> bool {
        self.mode.receiver_count() > 1
    }

    /// Sets the behavior for all connections, including those that are open.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts connections and forwards each in a task of its own. Drops connections while the mode is [`Mode::Cut`].
async fn accept_connections(listener: TcpListener, to: SocketAddr, mode: watch::Receiver<Mode>) {
    while let Ok((from, _)) = listener.accept().await {
        if *mode.borrow() != Mode::Cut {
            tokio::spawn(forward_connection(from, to, mode.clone()));
        }
    }
}

/// Forwards one connection in both directions until either side closes it or the proxy cuts it.
async fn forward_connection(from: TcpStream, to: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let frozen = mode.clone();
    let carried = async {
        let to = TcpStream::connect(to).await?;
        let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
        tokio::select! {
            ended = forward_bytes(from_read, to_write, frozen.clone()) => ended,
            ended = forward_bytes(to_read, from_write, frozen.clone()) => ended,
        }
    };
    tokio::select! {
        // Ignore an error: both streams are dropped at the end of this function, so each side notices the end of its
        // connection.
        _ = carried => {}
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

/// Forwards the data of one direction until the sender closes it.
async fn forward_bytes(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        // Wait also when the sender has closed its side (`length` is 0). A frozen network does not deliver the end of
        // a connection either.
        let thawed = mode.wait_for(|mode| *mode != Mode::Frozen).await.is_ok();
        if !thawed || length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length]).await?;
    }
}
