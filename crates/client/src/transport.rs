//! What carries requests: a network, a private socket, or a service that is in the same process.

use std::{convert::Infallible, fmt, sync::Once, time::Duration};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use reqwest::{Url, redirect};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};

use crate::{BoxError, Error, SocketAddress};

/// How long a connection may take to come about.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// The body of an answer, as it comes.
pub type Body = BoxStream<'static, Result<Bytes, BoxError>>;

/// What carries requests. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Transport {
    /// A network or a socket; the latter's address must stay open.
    Http {
        client: reqwest::Client,
        _socket: Option<SocketAddress>,
    },
    /// The same process.
    Within(BoxCloneSyncService<Request<Full<Bytes>>, Response<Body>, Infallible>),
}

/// Why no answer came.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The request never got there.
    NotReached(BoxError),
    /// It may have got there.
    Lost(BoxError),
}

impl Transport {
    /// A network, for requests to one server.
    pub(crate) fn network(url: &Url) -> Result<Self, Error> {
        let builder = builder(url.scheme() == "https");
        // What is on this machine is not reached by way of another one.
        let builder = if is_loopback(url) {
            builder.no_proxy()
        } else {
            builder
        };
        built(builder).map(|client| Self::Http {
            client,
            _socket: None,
        })
    }

    /// A private socket.
    pub(crate) fn socket(address: SocketAddress) -> Result<Self, Error> {
        let builder = builder(false).no_proxy().unix_socket(address.path());
        built(builder).map(|client| Self::Http {
            client,
            _socket: Some(address),
        })
    }

    /// A service that is in the same process.
    pub(crate) fn within<S, B>(service: S) -> Self
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
        Self::Within(BoxCloneSyncService::new(service))
    }

    /// Carries a request there and the head of its answer back.
    pub(crate) async fn carry(&self, request: Request<Bytes>) -> Result<Response<Body>, Broken> {
        match self {
            Self::Http { client, .. } => {
                let request = reqwest::Request::try_from(request)
                    .map_err(|error| Broken::NotReached(error.into()))?;
                let answered = client.execute(request).await.map_err(|error| {
                    let reached = !error.is_connect() && !error.is_builder();
                    let error = error.without_url().into();
                    if reached {
                        Broken::Lost(error)
                    } else {
                        Broken::NotReached(error)
                    }
                })?;
                let response: Response<reqwest::Body> = answered.into();
                Ok(response.map(|body| {
                    let parts = body.into_data_stream();
                    parts.map_err(|error| error.without_url().into()).boxed()
                }))
            }
            Self::Within(service) => match service.clone().oneshot(request.map(Full::new)).await {
                Ok(response) => Ok(response),
                Err(never) => match never {},
            },
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http { .. } => "Http",
            Self::Within(_) => "Within",
        })
    }
}

/// Reads a whole body.
pub(crate) async fn whole(mut body: Body) -> Result<Bytes, BoxError> {
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

/// What both have in common: no redirect is followed, so that a token goes to no other server.
fn builder(by_tls: bool) -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Whoever was first had the same in mind.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
    });
    let builder = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_PATIENCE)
        .user_agent(concat!("matins/", env!("CARGO_PKG_VERSION")));
    if by_tls {
        return builder;
    }
    // Without TLS, the certificates of the system need not be read.
    builder.tls_backend_preconfigured(
        rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth(),
    )
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
    builder.build().map_err(|error| Error::Unreachable {
        server: "any server".to_owned(),
        source: error.into(),
    })
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
