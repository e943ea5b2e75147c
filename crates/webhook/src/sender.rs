//! The sender of signed bodies to URLs that users choose.

use std::{error::Error, sync::Arc, time::Duration};

use model::{Timestamp, allowlist::Allowlist, signing_secret::SigningSecret};
use reqwest::{Client, Response, header, redirect};
use tls::{ClientConfig, TlsError};

use crate::{
    InvalidUrl, Lookup, SystemLookup, Target, boxed,
    resolver::{AddressFilter, ResolveError},
    signature::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign_with_all},
};

/// The maximum time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of unused connections to one host.
const MAX_IDLE_PER_HOST: usize = 2;
/// The maximum number of bytes that are read from a response.
const MAX_READ_BYTES: usize = 16 << 10;
/// The maximum number of bytes that are kept of a response.
const MAX_KEPT_BYTES: usize = 1 << 10;

/// A sender of signed bodies. Clones are cheap.
#[derive(Clone)]
pub struct Sender {
    /// The client for HTTPS, which reaches the public internet and the allowed addresses.
    https_client: Client,
    /// The client for plain HTTP, which reaches the allowed addresses only.
    http_client: Client,
    allowance: Arc<Allowlist>,
}

/// The error of a sender that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// TLS cannot be set up.
    #[error("cannot send over TLS")]
    Tls(#[from] TlsError),
    /// The HTTP client cannot be made.
    #[error("cannot create an HTTP client")]
    Client(#[from] reqwest::Error),
}

/// The response of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body.
    pub text: String,
}

/// The reason why there is no response. The receiver may have got the body nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Requests to the URL are not permitted.
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    /// The host resolves to addresses that are not permitted only.
    #[error("the host has no permitted address")]
    NotAllowed,
    /// The host name cannot be resolved.
    #[error("the host name cannot be resolved")]
    NotResolved,
    /// No connection could be made.
    #[error("cannot connect: {0}")]
    NotConnected(String),
    /// The response was not complete in time.
    #[error("the response did not arrive in time")]
    TimedOut,
    /// The connection broke, or the response was not HTTP.
    #[error("no valid response arrived: {0}")]
    ConnectionBroken(String),
}

impl Answer {
    /// Returns `true` if the status means that the receiver accepted the body.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

impl Sender {
    /// Makes a sender. `limit` is the maximum time of a request, from name resolution to the end of the response.
    pub fn new(allowance: Allowlist, limit: Duration) -> Result<Self, SenderError> {
        let system: Arc<dyn Lookup> = Arc::new(SystemLookup);
        Self::with_lookup(allowance, limit, &system)
    }

    /// Makes a sender that resolves host names with `lookup`.
    pub fn with_lookup(
        allowance: Allowlist,
        limit: Duration,
        lookup: &Arc<dyn Lookup>,
    ) -> Result<Self, SenderError> {
        let allowance = Arc::new(allowance);
        let client = |excludes_public, tls: ClientConfig| {
            let address_filter = AddressFilter {
                lookup: Arc::clone(lookup),
                allowance: Arc::clone(&allowance),
                excludes_public,
            };
            Client::builder()
                .tls_backend_preconfigured(tls)
                // The client does not resolve hosts that are IP addresses. `Target::parse` checks those.
                .dns_resolver(Arc::new(address_filter))
                // A proxy would resolve names itself, without `AddressFilter`.
                .no_proxy()
                // The target of a redirect would be reached without `Target::parse`.
                .redirect(redirect::Policy::none())
                .referer(false)
                // The caller schedules retries, so that each attempt is signed anew and is logged.
                .retry(reqwest::retry::never())
                .http1_only()
                .connect_timeout(CONNECT_TIMEOUT)
                .timeout(limit)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
                .user_agent(concat!("matins/", env!("CARGO_PKG_VERSION")))
        };
        Ok(Self {
            https_client: client(false, tls::client_config()?)
                .https_only(true)
                .build()?,
            http_client: client(true, tls::client_config_without_trust()?).build()?,
            allowance,
        })
    }

    /// Returns the addresses that this sender may reach in addition to the public internet.
    pub fn allowance(&self) -> &Allowlist {
        &self.allowance
    }

    /// Posts a JSON text, signed with each of the secrets. `id` identifies the message and must be the same in every
    /// attempt, so that the receiver can detect a repetition. `id` must not contain a dot.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not permitted, or if no complete response head arrived. Any HTTP status is a
    /// response.
    #[boxed]
    pub async fn send(
        &self,
        url: &str,
        secrets: &[&SigningSecret],
        id: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<Answer, SendError> {
        let target = Target::parse(url, &self.allowance)?;
        let client = if target.is_plain_http() {
            &self.http_client
        } else {
            &self.https_client
        };
        let seconds = now.as_microsecond().div_euclid(1_000_000);
        let signatures = sign_with_all(secrets, id, seconds, body.as_bytes());
        let request = client
            .post(target.url())
            .header(header::CONTENT_TYPE, "application/json")
            .header(ID_HEADER, id)
            .header(TIMESTAMP_HEADER, seconds)
            .header(SIGNATURE_HEADER, signatures)
            .body(body.to_owned());
        let response = request.send().await.map_err(|error| send_error(&error))?;
        let status = response.status().as_u16();
        // The status decides about the delivery, so an unreadable body is no error.
        let text = read_prefix(response).await;
        Ok(Answer { status, text })
    }
}

/// Returns the beginning of a body. Reads more than it keeps, so that the connection can be reused after a short
/// response, and stops at a limit because the receiver may send without end.
async fn read_prefix(mut response: Response) -> String {
    let mut kept = Vec::new();
    let mut read = 0;
    while read < MAX_READ_BYTES {
        let Ok(Some(chunk)) = response.chunk().await else {
            break;
        };
        read += chunk.len();
        let room = MAX_KEPT_BYTES - kept.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Classifies an error of the HTTP client. The result never contains the URL.
fn send_error(error: &reqwest::Error) -> SendError {
    let unreachable = sources(error).find_map(|error| error.downcast_ref::<ResolveError>());
    match unreachable {
        Some(ResolveError::NotAllowed) => return SendError::NotAllowed,
        Some(ResolveError::NotResolved(_)) => return SendError::NotResolved,
        None => {}
    }
    if error.is_timeout() {
        return SendError::TimedOut;
    }
    let cause = sources(error).last();
    let cause = cause.map_or_else(String::new, ToString::to_string);
    if error.is_connect() {
        SendError::NotConnected(cause)
    } else {
        SendError::ConnectionBroken(cause)
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}
