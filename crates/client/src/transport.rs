//! The transports of requests: a network, a private socket, or a service in the same process.

use std::{convert::Infallible, fmt, time::Duration};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use reqwest::{Url, redirect};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};

use crate::{BoxError, Error, SocketAddress};

/// The maximum time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a response, as a stream.
pub type Body = BoxStream<'static, Result<Bytes, BoxError>>;

/// A transport of requests. Clones are cheap.
#[derive(Clone)]
pub(crate) enum Transport {
    /// A network or a socket. `_socket` keeps the descriptor open that the socket's path may refer to.
    Http {
        client: reqwest::Client,
        _socket: Option<SocketAddress>,
    },
    /// A service in the same process.
    InProcess(BoxCloneSyncService<Request<Full<Bytes>>, Response<Body>, Infallible>),
}

/// The reason why no response arrived.
#[derive(Debug)]
pub(crate) enum TransportError {
    /// The server has certainly not received the request.
    NotSent(BoxError),
    /// The server may have received the request.
    MaybeSent(BoxError),
}

impl Transport {
    /// Makes a transport over the network to one server.
    pub(crate) fn network(url: &Url) -> Result<Self, Error> {
        let builder = client_builder(url.scheme() == "https")?;
        // A proxy would resolve a loopback address on its own machine, and so would get the token.
        let builder = if is_loopback(url) {
            builder.no_proxy()
        } else {
            builder
        };
        build_client(builder).map(|client| Self::Http {
            client,
            _socket: None,
        })
    }

    /// Makes a transport over a private socket.
    pub(crate) fn socket(address: SocketAddress) -> Result<Self, Error> {
        let builder = client_builder(false)?
            .no_proxy()
            .unix_socket(address.path());
        build_client(builder).map(|client| Self::Http {
            client,
            _socket: Some(address),
        })
    }

    /// Makes a transport to a service in the same process.
    pub(crate) fn in_process<S, B>(service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service.map_response(|response: Response<B>| {
            response.map(|body| body.into_data_stream().map_err(Into::into).boxed())
        });
        Self::InProcess(BoxCloneSyncService::new(service))
    }

    /// Sends a request and returns the head of the response, with the body as a stream.
    pub(crate) async fn send(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        match self {
            Self::Http { client, .. } => {
                let request = reqwest::Request::try_from(request)
                    .map_err(|error| TransportError::NotSent(error.into()))?;
                execute(client, request).await
            }
            Self::InProcess(service) => match service.clone().oneshot(request.map(Full::new)).await
            {
                Ok(response) => Ok(response),
                Err(never) => match never {},
            },
        }
    }
}

impl Transport {
    /// Sends a request with a body that is read while it is sent. Returns the head of the response, with the body as a stream.
    pub(crate) async fn send_stream(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        match self {
            Self::Http { client, .. } => {
                let request = request.map(reqwest::Body::wrap_stream);
                let request = reqwest::Request::try_from(request)
                    .map_err(|error| TransportError::NotSent(error.into()))?;
                execute(client, request).await
            }
            Self::InProcess(_) => {
                let (head, body) = request.into_parts();
                let body = read_to_end(body).await.map_err(TransportError::NotSent)?;
                self.send(Request::from_parts(head, body)).await
            }
        }
    }
}

async fn execute(
    client: &reqwest::Client,
    request: reqwest::Request,
) -> Result<Response<Body>, TransportError> {
    let result = client.execute(request).await.map_err(|error| {
        // Only a failed connection proves that the server has not received the request. Any other error counts as
        // `MaybeSent`, so that the caller does not repeat a request that may have had its effect.
        let reached = !error.is_connect() && !error.is_builder();
        // The address may contain titles or other content of the user in its query, which must not get into logs.
        let error = error.without_url().into();
        if reached {
            TransportError::MaybeSent(error)
        } else {
            TransportError::NotSent(error)
        }
    })?;
    let response: Response<reqwest::Body> = result.into();
    Ok(response.map(|body| {
        let parts = body.into_data_stream();
        parts.map_err(|error| error.without_url().into()).boxed()
    }))
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http { .. } => "Http",
            Self::InProcess(_) => "InProcess",
        })
    }
}

/// Reads a body to its end. Copies nothing if the body is a single chunk.
pub(crate) async fn read_to_end(mut body: Body) -> Result<Bytes, BoxError> {
    let Some(first) = body.try_next().await? else {
        return Ok(Bytes::new());
    };
    let Some(second) = body.try_next().await? else {
        return Ok(first);
    };
    let mut read = Vec::from(first);
    read.extend_from_slice(&second);
    while let Some(part) = body.try_next().await? {
        read.extend_from_slice(&part);
    }
    Ok(read.into())
}

/// Returns a builder with the options of all clients. The clients follow no redirects, so that the token reaches no
/// other server.
fn client_builder(by_tls: bool) -> Result<reqwest::ClientBuilder, Error> {
    let config = if by_tls {
        tls::client_config()
    } else {
        tls::client_config_without_trust()
    };
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(config.map_err(unreachable)?)
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("matins/", env!("CARGO_PKG_VERSION")));
    Ok(builder)
}

fn build_client(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
    builder.build().map_err(unreachable)
}

fn unreachable(error: impl Into<BoxError>) -> Error {
    Error::Unreachable {
        server: "any server".to_owned(),
        source: error.into(),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse()
            .is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback()),
        None => false,
    }
}
