//! Signs, verifies and sends webhooks, and connects only to permitted addresses.
//!
//! - [`verify`] checks the signature of a received request and returns its [`VerifiedRequest`], or a [`VerifyError`].
//! - [`sign`] and [`sign_with_all`] return the value of the signature header.
//! - [`Sender`] posts signed bodies. It parses the URL into a [`Target`], resolves the host with a [`Lookup`], and
//!   returns an [`Answer`] or a [`SendError`].
//!
//! Read `signature.rs` first, and then `sender.rs`.
//!
//! **Invariants:** this crate accesses no database. `verify` checks the signature before any part of the body is
//! interpreted. A body goes only to an address that was checked when the connection was made, which prevents requests
//! to internal services (server-side request forgery): the sender follows no redirect, and resolves a name once for
//! the check and the connection.

mod address;
mod headers;
mod resolver;
mod sender;
mod signature;
mod target;
mod verify_error;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use headers::verify;
pub use http::{HeaderMap, HeaderName};
pub use model::signing_secret::{InvalidSigningSecret, SigningSecret, SigningSecrets};
pub use resolver::{Lookup, SystemLookup};
pub use sender::{Answer, SendError, Sender, SenderError};
pub use signature::{
    ID_HEADER, SIGNATURE_HEADER, SignatureHeaders, TIMESTAMP_HEADER, VerifiedRequest, sign,
    sign_with_all,
};
pub use target::{InvalidUrl, Target, redact_url};
pub use verify_error::VerifyError;
