//! A TCP proxy, between a replica and the database or between a runtime and the replicas. It can freeze or cut the
//! connections, and act at the moment of a certain reply.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{oneshot, watch},
    task::JoinHandle,
};

/// The beginning of the idempotency key of a file, before 64 digits.
const KEY_PREFIX: &[u8] = b"trigger-file-";

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

/// An action at the reply to the next request whose path has a certain end. At that moment the server has handled the
/// request, and the client does not know it yet.
struct Tripwire {
    path_end: &'static str,
    action: Box<dyn FnOnce() + Send>,
    /// Told after the action.
    tripped: oneshot::Sender<()>,
}

/// The parts that all connections share.
struct Shared {
    targets: Vec<SocketAddr>,
    /// The number of connections so far.
    accepted: AtomicUsize,
    tripwire: Mutex<Option<Tripwire>>,
    replaces_keys: AtomicBool,
    /// The number of idempotency keys that were replaced.
    replaced_keys: AtomicU64,
}

/// A running proxy. It accepts no more connections when the value is dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    mode: watch::Sender<Mode>,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy on a free port. It forwards to the addresses by turns, one for each connection.
    pub(crate) async fn start(targets: Vec<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (mode, mode_changes) = watch::channel(Mode::Open);
        let shared = Arc::new(Shared {
            targets,
            accepted: AtomicUsize::new(0),
            tripwire: Mutex::new(None),
            replaces_keys: AtomicBool::new(false),
            replaced_keys: AtomicU64::new(0),
        });
        let task = tokio::spawn(accept_connections(
            listener,
            Arc::clone(&shared),
            mode_changes,
        ));
        Ok(Self {
            port,
            mode,
            shared,
            task,
        })
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

    /// Replaces the idempotency key of each file in requests from now on, so that no key occurs twice.
    pub(crate) fn replace_keys(&self) {
        self.shared.replaces_keys.store(true, Ordering::Relaxed);
    }

    /// Calls `action` when the reply to the next HTTP request arrives whose path ends in `path_end`. The reply is not
    /// forwarded, and its connection is closed. The returned receiver reports that.
    pub(crate) fn set_tripwire(
        &self,
        path_end: &'static str,
        action: impl FnOnce() + Send + 'static,
    ) -> oneshot::Receiver<()> {
        let (tripped, receiver) = oneshot::channel();
        *self.shared.tripwire() = Some(Tripwire {
            path_end,
            action: Box::new(action),
            tripped,
        });
        receiver
    }

    /// Removes the action that has not been called.
    pub(crate) fn clear_tripwire(&self) {
        self.shared.tripwire().take();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn tripwire(&self) -> std::sync::MutexGuard<'_, Option<Tripwire>> {
        self.tripwire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `true` if data of a client begins a request for which an action waits.
    fn is_awaited(&self, data: &[u8]) -> bool {
        let tripwire = self.tripwire();
        tripwire
            .as_ref()
            .is_some_and(|tripwire| path_ends_in(data, tripwire.path_end))
    }

    /// Replaces the idempotency keys in a part of a request.
    fn replace_keys_in(&self, data: &mut [u8]) {
        if !self.replaces_keys.load(Ordering::Relaxed) {
            return;
        }
        let mut parts = data.windows(KEY_PREFIX.len());
        let Some(start) = parts.position(|part| part == KEY_PREFIX) else {
            return;
        };
        let number = self.replaced_keys.fetch_add(1, Ordering::Relaxed);
        let digits = data.iter_mut().skip(start + KEY_PREFIX.len());
        for (digit, replaced) in digits.zip(format!("{number:016x}").bytes()) {
            *digit = replaced;
        }
    }

    /// Calls the action. Returns `false` if there is none any more.
    fn trip(&self) -> bool {
        let Some(tripwire) = self.tripwire().take() else {
            return false;
        };
        (tripwire.action)();
        // The receiver may have given up.
        tripwire.tripped.send(()).ok();
        true
    }
}

/// `true` if data is the head of an HTTP request whose path ends in `end`. A client sends one request at a time on a
/// connection, so that a request begins at the beginning of the data.
fn path_ends_in(data: &[u8], end: &str) -> bool {
    let line = data.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = line.strip_prefix(b"POST ");
    let path = line.and_then(|line| line.strip_suffix(b" HTTP/1.1"));
    path.is_some_and(|path| path.ends_with(end.as_bytes()))
}

/// Accepts connections and forwards each in a task of its own. Drops connections while the mode is [`Mode::Cut`].
async fn accept_connections(
    listener: TcpListener,
    shared: Arc<Shared>,
    mode: watch::Receiver<Mode>,
) {
    while let Ok((from, _)) = listener.accept().await {
        if *mode.borrow() != Mode::Cut {
            tokio::spawn(forward_connection(from, Arc::clone(&shared), mode.clone()));
        }
    }
}

/// Forwards one connection in both directions until either side closes it or the proxy cuts it.
async fn forward_connection(from: TcpStream, shared: Arc<Shared>, mut mode: watch::Receiver<Mode>) {
    let number = shared.accepted.fetch_add(1, Ordering::Relaxed);
    let Some(target) = shared.targets.get(number % shared.targets.len().max(1)) else {
        return;
    };
    let frozen = mode.clone();
    let awaited = AtomicBool::new(false);
    let carried = async {
        let to = TcpStream::connect(target).await?;
        let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
        let watch_request = |data: &mut [u8]| {
            shared.replace_keys_in(data);
            if shared.is_awaited(data) {
                awaited.store(true, Ordering::Relaxed);
            }
            true
        };
        let watch_reply = |_: &mut [u8]| !(awaited.load(Ordering::Relaxed) && shared.trip());
        tokio::select! {
            ended = forward_bytes(from_read, to_write, frozen.clone(), watch_request) => ended,
            ended = forward_bytes(to_read, from_write, frozen.clone(), watch_reply) => ended,
        }
    };
    tokio::select! {
        // Ignore an error: both streams are dropped at the end of this function, so each side notices the end of its
        // connection.
        _ = carried => {}
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

/// Forwards the data of one direction until the sender closes it, or until `goes_on` returns `false` for a part of it,
/// which it may change.
async fn forward_bytes(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    goes_on: impl Fn(&mut [u8]) -> bool,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        // Wait also when the sender has closed its side (`length` is 0). A frozen network does not deliver the end of
        // a connection either.
        let thawed = mode.wait_for(|mode| *mode != Mode::Frozen).await.is_ok();
        let data = &mut buffer[..length];
        if !thawed || length == 0 || !goes_on(data) {
            return Ok(());
        }
        to.write_all(data).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_end_is_found_in_request_line_alone() {
        let request = b"POST /api/v1/runtime/runs/run_1/claim HTTP/1.1\r\nhost: x\r\n\r\n";
        assert!(path_ends_in(request, "/claim"));
        assert!(!path_ends_in(request, "/begin"));
        assert!(!path_ends_in(b"GET /claim HTTP/1.1\r\n", "/claim"));
        assert!(!path_ends_in(b"{\"text\": \"/claim\"}", "/claim"));
    }

    #[tokio::test]
    async fn keys_are_replaced_by_unique_ones_of_the_same_length() -> Result<()> {
        let proxy = Proxy::start(Vec::new()).await?;
        let request = format!(r#"{{"automation":"a","key":"trigger-file-{:064}"}}"#, 1);
        let replaced = || {
            let mut data = request.clone().into_bytes();
            proxy.shared.replace_keys_in(&mut data);
            String::from_utf8(data)
        };
        assert_eq!(replaced()?, request);
        proxy.replace_keys();
        let (first, second) = (replaced()?, replaced()?);
        assert_ne!(first, second);
        assert_eq!(
            second,
            request.replacen("0000000000000000", "0000000000000001", 1)
        );
        let mut other = *b"no key";
        proxy.shared.replace_keys_in(&mut other);
        assert_eq!(&other, b"no key");
        Ok(())
    }

    #[tokio::test]
    async fn tripwire_acts_after_the_request_and_drops_the_reply() -> Result<()> {
        let server = TcpListener::bind(("127.0.0.1", 0)).await?;
        let proxy = Proxy::start(vec![server.local_addr()?]).await?;
        let acted = Arc::new(AtomicBool::new(false));
        let action = Arc::clone(&acted);
        let tripped = proxy.set_tripwire("/finish", move || action.store(true, Ordering::Relaxed));
        let mut client = TcpStream::connect(("127.0.0.1", proxy.port)).await?;
        let (mut served, _) = server.accept().await?;
        let mut buffer = [0; 256];
        for path in ["/claim", "/finish"] {
            let request = format!("POST /runs/run_1{path} HTTP/1.1\r\n\r\n");
            client.write_all(request.as_bytes()).await?;
            let length = served.read(&mut buffer).await?;
            assert_eq!(&buffer[..length], request.as_bytes());
            served.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            let length = client.read(&mut buffer).await?;
            assert_eq!(length == 0, path == "/finish");
        }
        tripped.await?;
        assert!(acted.load(Ordering::Relaxed));
        Ok(())
    }
}
