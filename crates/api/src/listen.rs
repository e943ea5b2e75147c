//! Serving routes at addresses and at a private socket, until told to stop.
//!
//! **Invariant:** a stop takes a bounded time, whatever streams are open: whoever streams ends at the same
//! token, and what has not ended a moment later is cut. Nor does a client hold anything up that reads
//! nothing: what it does not take in time ends its connection.

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

/// How long a client may take to send the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// What a connection may keep of a request's head and of an answer that its client does not read. The
/// smallest that hyper takes.
const BUFFER_BYTES: usize = 8 * 1024;
/// How long a client may take nothing of what is written to it.
const WRITE_PATIENCE: Duration = Duration::from_mins(1);
/// How long open requests have to end at a stop.
const STOP_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait after a connection could not be accepted: too many files are open, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where requests come in.
#[derive(Debug)]
pub enum Listener {
    /// An address of the network.
    Tcp(TcpListener),
    /// A socket that its owner alone may open.
    Private(UnixListener),
}

/// A listener that is being served.
#[derive(Debug)]
pub struct Served {
    address: Option<SocketAddr>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Served {
    /// The address, unless it is a private socket.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Stops: nothing more is accepted, and what is open ends or is cut.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.ok();
    }
}

/// Serves routes at a listener until it is stopped, or `stop` is cancelled.
pub fn serve(listener: Listener, routes: Router, stop: CancellationToken) -> Served {
    let address = match &listener {
        Listener::Tcp(listener) => listener.local_addr().ok(),
        Listener::Private(_) => None,
    };
    let task = tokio::spawn(accept_all(listener, routes, stop.clone()));
    Served {
        address,
        stop,
        task,
    }
}

async fn accept_all(listener: Listener, routes: Router, stop: CancellationToken) {
    let open = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener) => accepted,
        };
        match accepted {
            Ok(Accepted::Tcp(stream, from)) => {
                attend(stream, Peer::Network(from), &routes, &open, WRITE_PATIENCE);
            }
            Ok(Accepted::Private(stream)) => {
                attend(stream, Peer::Private, &routes, &open, WRITE_PATIENCE);
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if timeout(STOP_PATIENCE, open.shutdown()).await.is_err() {
        tracing::debug!("connections that did not end were cut");
    }
}

enum Accepted {
    Tcp(tokio::net::TcpStream, SocketAddr),
    Private(tokio::net::UnixStream),
}

async fn accept(listener: &Listener) -> io::Result<Accepted> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, from) = listener.accept().await?;
            // Events are small and wanted at once. One that is gone already is seen to be that later.
            stream.set_nodelay(true).ok();
            Ok(Accepted::Tcp(stream, from))
        }
        Listener::Private(listener) => Ok(Accepted::Private(listener.accept().await?.0)),
    }
}

/// Serves one connection, beside the others. It ends when its client has taken nothing for as long as
/// `patience` of what is written to it.
fn attend<S>(stream: S, peer: Peer, routes: &Router, open: &GracefulShutdown, patience: Duration)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience));
    let stream = Box::pin(stream);
    let routes = routes.clone();
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let routes = routes.clone();
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
        .header_read_timeout(HEAD_PATIENCE)
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
    use axum::{body::Bytes, routing::get};
    use futures::{StreamExt as _, stream};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        sync::mpsc,
    };

    use super::*;

    /// Tells when it goes.
    struct Tells(mpsc::UnboundedSender<()>);

    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).ok();
        }
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_dropped() {
        let (told, mut given_up) = mpsc::unbounded_channel();
        let endless = move || {
            let tells = Tells(told.clone());
            let chunks = stream::repeat(Bytes::from(vec![b'x'; 65_536]));
            let chunks = chunks.map(move |chunk| {
                let _goes_with_the_answer = &tells;
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
        attend(stream, Peer::Network(from), &routes, &open, patience);
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

    #[tokio::test]
    async fn a_stop_waits_for_no_client_that_takes_nothing() {
        let (told, mut written) = mpsc::unbounded_channel();
        let endless = move || {
            let told = told.clone();
            let chunks = stream::repeat(Bytes::from(vec![b'x'; 65_536]));
            let chunks = chunks.inspect(move |_| {
                told.send(()).ok();
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
