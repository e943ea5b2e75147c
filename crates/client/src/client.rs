//! The client: a transport, the address of the API, and the credentials.

use std::{convert::Infallible, fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use model::Entropy;
use reqwest::Url;
use tower::Service;

use crate::{BoxError, Error, SocketAddress, transport::Transport};

/// A client of one server. Clones are cheap, because they share the connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) transport: Transport,
    /// The address of the API, without a trailing slash.
    pub(crate) base_url: Arc<str>,
    /// The name of the server in error messages.
    pub(crate) server: Arc<str>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// The base address of requests over a socket or within the process, where no host is looked up.
const LOCAL_BASE_URL: &str = "http://localhost/api/v1";

impl Client {
    /// Makes a client of the server at an address such as `https://matins.example.org`, with a token.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Invalid`] if the address or the token has a wrong form.
    pub fn with_address(
        address: &str,
        token: &str,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, Error> {
        let url = parse_address(address)?;
        let server = url.as_str().trim_end_matches('/').to_owned();
        let authorization = bearer(token)?;
        Ok(Self {
            transport: Transport::network(&url)?,
            base_url: format!("{server}/api/v1").into(),
            server: server.into(),
            authorization: Some(authorization),
            entropy,
        })
    }

    /// Makes a client of the server that listens on a private socket. The socket requires no token.
    pub fn with_socket(address: SocketAddress, entropy: Arc<dyn Entropy>) -> Result<Self, Error> {
        let server = format!("the server at {}", address.path().display());
        Ok(Self {
            transport: Transport::socket(address)?,
            base_url: LOCAL_BASE_URL.into(),
            server: server.into(),
            authorization: None,
            entropy,
        })
    }

    /// Makes a client of routes in this process. The routes themselves determine the identity of the caller.
    pub fn in_process<S, B>(routes: S, entropy: Arc<dyn Entropy>) -> Self
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
        Self {
            transport: Transport::in_process(routes),
            base_url: LOCAL_BASE_URL.into(),
            server: "the routes of this process".into(),
            authorization: None,
            entropy,
        }
    }

    /// Returns the same client with a token, such as for routes in this process.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Invalid`] if the token has a wrong form.
    pub fn with_token(mut self, token: &str) -> Result<Self, Error> {
        self.authorization = Some(bearer(token)?);
        Ok(self)
    }

    /// Returns the name of the server in error messages: its address, or a description if it has none.
    pub fn server_name(&self) -> &str {
        &self.server
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("Client");
        output.field("server", &self.server).finish_non_exhaustive()
    }
}

/// Returns the header that shows a token.
fn bearer(token: &str) -> Result<HeaderValue, Error> {
    let mut authorization =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Error::Invalid {
            what: "token".to_owned(),
            reason: "accepted are letters, digits and `_`, such as mat_...".to_owned(),
        })?;
    authorization.set_sensitive(true);
    Ok(authorization)
}

/// Parses the address of a server.
fn parse_address(given: &str) -> Result<Url, Error> {
    let refused = |reason: &str| Error::Invalid {
        what: format!("address `{}`", given.escape_debug()),
        reason: reason.to_owned(),
    };
    let accepted =
        "accepted is an address such as http://127.0.0.1:7347 or https://matins.example.org";
    let url = Url::parse(given.trim()).map_err(|_| refused(accepted))?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.has_host();
    if !plain || !matches!(url.scheme(), "http" | "https") {
        return Err(refused(accepted));
    }
    // The error does not repeat the address, because it contains a password.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::Invalid {
            what: "address".to_owned(),
            reason: "accepted is an address without user name and password".to_owned(),
        });
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use testkit::clock::SeededEntropy;

    use super::*;

    #[test]
    fn client_address_must_be_plain_http_url() {
        let at = |address| Client::with_address(address, "mat_x", Arc::new(SeededEntropy::new(1)));
        for address in [
            "http://127.0.0.1:7347",
            "http://127.0.0.1:7347/",
            "http://[::1]:1",
            "http://host/matins/",
        ] {
            let client = at(address).unwrap();
            assert!(!client.server_name().ends_with('/'), "{client:?}");
        }
        for address in [
            "",
            "localhost:7347",
            "127.0.0.1:7347",
            "ftp://host",
            "unix:/run/matins.sock",
            "http://host/?a=b",
            "http://host/#a",
        ] {
            let error = at(address).unwrap_err().to_string();
            assert!(error.contains("accepted is an address such as"), "{error}");
        }
        let error = at("http://me:secret@host").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn client_debug_output_hides_token() {
        let client =
            Client::with_address("http://h", "mat_secret", Arc::new(SeededEntropy::new(1)));
        assert!(!format!("{client:?}").contains("mat_secret"));
    }
}
