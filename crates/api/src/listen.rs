//! Serves routes at TCP addresses and at private sockets until the server stops.
//!
//! **Invariant:** a stop takes a bounded time. Streams end at the same token, and [`ServerHandle::stop`] waits for
//! other open connections for one second at the most. A client that reads nothing holds no memory for long either: its
//! connection ends when a write makes no progress for a minute.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, time::Duration};

use axum::{Router, body::Body};
use http::Request;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::Peer;

/// The time limit for the head of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The size of the buffers of a connection, in bytes: for the head of a request, and for response data that the
/// client has not read. It is the smallest size that hyper accepts.
const BUFFER_BYTES: usize = 8 * 1024;
/// The time after which a connection ends if the client reads nothing.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
/// The time for which a stop waits for open connections.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after an error of `accept`. The usual cause is that the process has too many open files; without the
/// pause the loop would use a whole processor until one is closed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A socket that accepts connections.
#[derive(Debug)]
pub enum Listener {
    /// A TCP address.
    Tcp(TcpListener),
    /// A Unix socket that only its owner can open, and the check of the processes that connect. The processes of agents
    /// have the same owner.
    Private(UnixListener, fn(u32) -> PeerCheck),
}

/// Returns `true` if the process at the other end of a connection belongs to a run, or if that cannot be told.
pub type PeerCheck = Box<dyn Fn() -> bool + Send>;

/// A running listener.
#[derive(Debug)]
pub struct ServerHandle {
    address: Option<SocketAddr>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl ServerHandle {
    /// Returns the TCP address. Returns `None` for a private socket.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Stops the listener: accepts no more connections, asks open connections to end after their current request, and
    /// waits for them for one second. A connection that is still open then is not aborted; its task continues until
    /// the connection or the process ends.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.ok();
    }
}

/// Starts to serve routes at a listener, in a task of its own, until [`ServerHandle::stop`] is called or `stop` is
/// cancelled.
pub fn serve(listener: Listener, routes: Router, stop: CancellationToken) -> ServerHandle {
    let address = match &listener {
        Listener::Tcp(listener) => listener.local_addr().ok(),
        Listener::Private(..) => None,
    };
    let task = tokio::spawn(accept_all(listener, routes, stop.clone()));
    ServerHandle {
        address,
        stop,
        task,
    }
}

/// Accepts connections until `stop` is cancelled, then waits for those that are open.
async fn accept_all(listener: Listener, routes: Router, stop: CancellationToken) {
    let open = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener) => accepted,
        };
        match accepted {
            Ok(AcceptedConnection::Tcp(stream, from)) => {
                let peer = move || Peer::Network(from);
                serve_connection(stream, peer, &routes, &open, WRITE_TIMEOUT);
            }
            Ok(AcceptedConnection::Private(stream, check_of)) => {
                let is_agent = check_of_peer(&stream, check_of);
                let peer = move || {
                    if is_agent() {
                        Peer::Agent
                    } else {
                        Peer::Private
                    }
                };
                serve_connection(stream, peer, &routes, &open, WRITE_TIMEOUT);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    // Close the listener before the wait, so that new clients are refused at once and do not wait in its queue.
    drop(listener);
    if timeout(STOP_TIMEOUT, open.shutdown()).await.is_err() {
        tracing::debug!("some connections are still open after the stop");
    }
}

/// Returns the check of the process that has connected. A process without an ID here runs in another container, and so
/// not below a guard of this one.
fn check_of_peer(stream: &tokio::net::UnixStream, check_of: fn(u32) -> PeerCheck) -> PeerCheck {
    match stream.peer_cred().map(|peer| peer.pid().unwrap_or(0)) {
        Ok(0) => Box::new(|| false),
        Ok(process) => u32::try_from(process).map_or_else(|_| always_agent(), check_of),
        Err(_) => always_agent(),
    }
}

fn always_agent() -> PeerCheck {
    Box::new(|| true)
}

/// An accepted connection.
enum AcceptedConnection {
    Tcp(tokio::net::TcpStream, SocketAddr),
    Private(tokio::net::UnixStream, fn(u32) -> PeerCheck),
}

async fn accept(listener: &Listener) -> io::Result<AcceptedConnection> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, from) = listener.accept().await?;
            // Send small frames at once (no Nagle delay), because trace events are small and urgent. Ignore an error:
            // the client has disconnected then, and the next read reports it.
            stream.set_nodelay(true).ok();
            Ok(AcceptedConnection::Tcp(stream, from))
        }
        Listener::Private(listener, check_of) => Ok(AcceptedConnection::Private(
            listener.accept().await?.0,
            *check_of,
        )),
    }
}

/// Starts to serve one connection, in a task of its own. The connection ends if the client reads nothing for
/// `write_timeout` while the server writes. `peer` tells before each request who sends it, because a process can start
/// an agent after it has connected.
fn serve_connection<S>(
    stream: S,
    peer: impl Fn() -> Peer + Send + 'static,
    routes: &Router,
    open: &GracefulShutdown,
    write_timeout: Duration,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write_timeout));
    let stream = Box::pin(stream);
    let routes = routes.clone();
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let routes = routes.clone();
        let peer = peer();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            Ok::<_, Infallible>(match routes.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            })
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(BUFFER_BYTES);
    let connection = open.watch(builder.serve_connection(TokioIo::new(stream), answer));
    tokio::spawn(async move {
        if let Err(error) = pin!(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use axum::{Extension, body::Bytes, routing::get};
    use futures::{StreamExt as _, stream};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpStream, UnixStream},
        sync::mpsc,
    };

    use super::*;

    /// Sends a message when it is dropped.
    struct DropNotifier(mpsc::UnboundedSender<()>);

    impl Drop for DropNotifier {
        fn drop(&mut self) {
            self.0.send(()).ok();
        }
    }

    #[tokio::test]
    async fn connection_of_unreading_client_is_closed() {
        let (sender, mut given_up) = mpsc::unbounded_channel();
        let endless = move || {
            let notifier = DropNotifier(sender.clone());
            let chunks = stream::repeat(Bytes::from(vec![b'x'; 65_536]));
            let chunks = chunks.map(move |chunk| {
                let _dropped_with_response = &notifier;
                Ok::<_, Infallible>(chunk)
            });
            async move { Body::from_stream(chunks) }
        };
        let routes = Router::new().route("/", get(endless));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (stream, from) = listener.accept().await.unwrap();
        let open = GracefulShutdown::new();
        let patience = Duration::from_millis(200);
        serve_connection(
            stream,
            move || Peer::Network(from),
            &routes,
            &open,
            patience,
        );
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
            .unwrap();
        let mut beginning = [0; 12];
        client.read_exact(&mut beginning).await.unwrap();
        assert_eq!(&beginning, b"HTTP/1.1 200");
        given_up.recv().await.unwrap();
        open.shutdown().await;
    }

    /// Returns a check that finds an agent from the second request on.
    fn agent_from_second_request(process: u32) -> PeerCheck {
        assert_eq!(process, std::process::id());
        let checks = AtomicU32::new(0);
        Box::new(move || checks.fetch_add(1, Ordering::Relaxed) > 0)
    }

    #[tokio::test]
    async fn process_is_checked_before_each_request_of_private_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let told = async |peer: Extension<Peer>| format!("<{:?}>", peer.0);
        let routes = Router::new().route("/", get(told));
        let listener = UnixListener::bind(&path).unwrap();
        let listener = Listener::Private(listener, agent_from_second_request);
        let served = serve(listener, routes, CancellationToken::new());
        let mut client = UnixStream::connect(&path).await.unwrap();
        for expected in ["<Private>", "<Agent>"] {
            client
                .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .await
                .unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b">") {
                assert_ne!(client.read_buf(&mut answer).await.unwrap(), 0);
            }
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.ends_with(expected), "{answer}");
        }
        served.stop().await;
    }

    #[tokio::test]
    async fn stop_does_not_wait_for_unreading_client() {
        let (sender, mut written) = mpsc::unbounded_channel();
        let endless = move || {
            let sender = sender.clone();
            let chunks = stream::repeat(Bytes::from(vec![b'x'; 65_536]));
            let chunks = chunks.inspect(move |_| {
                sender.send(()).ok();
            });
            async move { Body::from_stream(chunks.map(Ok::<_, Infallible>)) }
        };
        let routes = Router::new().route("/", get(endless));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let served = serve(Listener::Tcp(listener), routes, CancellationToken::new());
        let mut client = TcpStream::connect(served.address().unwrap()).await.unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
            .unwrap();
        written.recv().await.unwrap();
        timeout(Duration::from_secs(2), served.stop())
            .await
            .expect("it stops in less than two seconds");
    }
}
