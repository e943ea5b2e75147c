//! Sending a signed body to an address of somebody's choice.

use std::{error::Error, sync::Arc, time::Duration};

use model::{Timestamp, allowance::Allowance, secret::Secret};
use reqwest::{Client, Response, header, redirect};

use crate::{
    InvalidUrl, Lookup, SystemLookup, Target,
    resolver::{Guard, Unreachable},
    signature::{ID, SIGNATURE, TIMESTAMP, sign_with_all},
};

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// How many unused connections are kept to one host.
const IDLE_PER_HOST: usize = 2;
/// How much of an answer is read.
const ANSWER_BYTES: usize = 16 << 10;
/// How much of it is kept.
const KEPT_BYTES: usize = 1 << 10;

/// Sends signed bodies. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    /// To the public internet and to what is allowed.
    encrypted: Client,
    /// To what is allowed alone.
    open: Client,
    allowance: Arc<Allowance>,
}

/// Why no sender can be made.
#[derive(Debug, thiserror::Error)]
#[error("make a client of HTTP")]
pub struct SenderError(#[from] reqwest::Error);

/// What a receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The beginning of what came with it.
    pub text: String,
}

/// Why nothing was answered. The body may have been received.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The address is none to which anything is sent.
    #[error(transparent)]
    Url(#[from] InvalidUrl),
    /// The host has no address that may be reached.
    #[error("the host has no address that may be reached")]
    NotAllowed,
    /// The host has no address.
    #[error("the name of the host cannot be resolved")]
    NotResolved,
    /// No connection was made.
    #[error("no connection was made: {0}")]
    NotConnected(String),
    /// No whole answer came in time.
    #[error("no answer came in time")]
    TimedOut,
    /// The connection broke, or what came was no answer of HTTP.
    #[error("no answer came: {0}")]
    Broken(String),
}

impl Answer {
    /// Whether the receiver has taken it.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

impl Sender {
    /// Makes a sender that gives each request `limit`, from the name to the end of the answer.
    pub fn new(allowance: Allowance, limit: Duration) -> Result<Self, SenderError> {
        let system: Arc<dyn Lookup> = Arc::new(SystemLookup);
        Self::with_lookup(allowance, limit, &system)
    }

    /// Makes a sender that asks `lookup` for the addresses of hosts.
    pub fn with_lookup(
        allowance: Allowance,
        limit: Duration,
        lookup: &Arc<dyn Lookup>,
    ) -> Result<Self, SenderError> {
        // There may be one already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let allowance = Arc::new(allowance);
        let client = |allowed_only| {
            let guard = Guard {
                lookup: Arc::clone(lookup),
                allowance: Arc::clone(&allowance),
                allowed_only,
            };
            Client::builder()
                .dns_resolver(Arc::new(guard))
                // A proxy would resolve names by itself, and reach what we may not.
                .no_proxy()
                .redirect(redirect::Policy::none())
                .referer(false)
                .retry(reqwest::retry::never())
                .http1_only()
                .connect_timeout(CONNECT_LIMIT)
                .timeout(limit)
                .pool_idle_timeout(IDLE_LIMIT)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .user_agent(concat!("matins/", env!("CARGO_PKG_VERSION")))
        };
        Ok(Self {
            encrypted: client(false).https_only(true).build()?,
            open: client(true).build()?,
            allowance,
        })
    }

    /// What this sender may reach beside the public internet.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Posts a JSON text, signed with each of the secrets. `id` names what is told, and is the same
    /// whenever it is told again; it has no dot.
    pub async fn send(
        &self,
        url: &str,
        secrets: &[&Secret],
        id: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<Answer, NotSent> {
        let target = Target::parse(url, &self.allowance)?;
        let client = if target.is_open() {
            &self.open
        } else {
            &self.encrypted
        };
        let seconds = now.as_microsecond().div_euclid(1_000_000);
        let signatures = sign_with_all(secrets, id, seconds, body.as_bytes());
        let request = client
            .post(target.url())
            .header(header::CONTENT_TYPE, "application/json")
            .header(ID, id)
            .header(TIMESTAMP, seconds)
            .header(SIGNATURE, signatures)
            .body(body.to_owned());
        let response = request.send().await.map_err(|error| not_sent(&error))?;
        let status = response.status().as_u16();
        // What cannot be read of an answer changes nothing about its status.
        let text = beginning(response).await;
        Ok(Answer { status, text })
    }
}

/// The beginning of an answer. No more is read than is worth while for the connection's sake.
async fn beginning(mut response: Response) -> String {
    let mut kept = Vec::new();
    let mut read = 0;
    while read < ANSWER_BYTES {
        let Ok(Some(chunk)) = response.chunk().await else {
            break;
        };
        read += chunk.len();
        let room = KEPT_BYTES - kept.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Tells apart why nothing was answered. The text never has the address in it.
fn not_sent(error: &reqwest::Error) -> NotSent {
    let unreachable = sources(error).find_map(|error| error.downcast_ref::<Unreachable>());
    match unreachable {
        Some(Unreachable::NotAllowed) => return NotSent::NotAllowed,
        Some(Unreachable::NotResolved(_)) => return NotSent::NotResolved,
        None => {}
    }
    if error.is_timeout() {
        return NotSent::TimedOut;
    }
    let cause = sources(error).last();
    let cause = cause.map_or_else(String::new, ToString::to_string);
    if error.is_connect() {
        NotSent::NotConnected(cause)
    } else {
        NotSent::Broken(cause)
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| (*error).source())
}
