//! What stands between a replica and its database, and lets go or holds still.

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

/// What it does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Carries both ways.
    Open,
    /// Holds everything, and everything stays connected: nobody is told anything.
    Frozen,
    /// Ends all that are there, and takes none.
    Cut,
}

/// A proxy. It ends with the value.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    mode: watch::Sender<Mode>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens, and carries to a port of this machine.
    pub(crate) async fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (mode, told) = watch::channel(Mode::Open);
        let task = tokio::spawn(serve(
            listener,
            SocketAddr::from(([127, 0, 0, 1], to)),
            told,
        ));
        Ok(Self { port, mode, task })
    }

    /// Whether it carries any connection: each watches the mode, as the one does who listens.
    pub(crate) fn carries(&self) -> bool {
        self.mode.receiver_count() > 1
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, to: SocketAddr, mode: watch::Receiver<Mode>) {
    while let Ok((from, _)) = listener.accept().await {
        if *mode.borrow() != Mode::Cut {
            tokio::spawn(carry(from, to, mode.clone()));
        }
    }
}

async fn carry(from: TcpStream, to: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let frozen = mode.clone();
    let carried = async {
        let to = TcpStream::connect(to).await?;
        let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
        tokio::select! {
            ended = pump(from_read, to_write, frozen.clone()) => ended,
            ended = pump(to_read, from_write, frozen.clone()) => ended,
        }
    };
    tokio::select! {
        // Whoever is connected learns of what broke by its end.
        _ = carried => {}
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

/// Carries one way until that ends.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        // Its end is held as well: whoever is cut off hears nothing.
        let thawed = mode.wait_for(|mode| *mode != Mode::Frozen).await.is_ok();
        if !thawed || length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length]).await?;
    }
}
