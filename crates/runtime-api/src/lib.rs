//! The protocol between a runtime, which takes turns in a folder, and the server that knows them: the bodies of the
//! operations below `/api/v1/runtime`, with conversions from and into the domain.
//!
//! ```text
//! domain (model::turn) --From--> body --JSON--> body --into_domain()--> domain
//! ```
//!
//! - [`PROTOCOL`] is the version. Every request names that of the runtime in [`PROTOCOL_HEADER`], and
//!   [`require_supported`] refuses the versions that a server does not serve.
//! - Every request also names the worker that takes the turns, in [`WORKER_HEADER`].
//! - [`TurnAssignment`](assignment::TurnAssignment) is the largest body: the input of a turn.
//!
//! Read `begin.rs` first.
//!
//! **Invariants:** runtimes and servers of neighbouring versions speak to each other, so that a fleet can be upgraded one
//! by one. A body ignores keys that it does not know, a new key has a default, and a word that a version does not know
//! has a substitute which is safe. The conversions destructure the domain's types, so that a new field of the domain does
//! not compile until it is part of the protocol.

pub mod accounts;
pub mod agent;
pub mod approvals;
pub mod assignment;
pub mod begin;
pub mod presence;
pub mod result;
pub mod tools;
pub mod trigger;
mod version;
mod word;
pub mod writes;

#[cfg(test)]
mod tests;

pub use version::{PROTOCOL, UnsupportedProtocol, require_supported};

/// The path below the API of all operations of runtimes.
pub const PATH: &str = "runtime";

/// The header of each request with the version of the protocol that the runtime speaks.
pub const PROTOCOL_HEADER: &str = "matins-runtime-protocol";

/// The header of each request with the name of the worker that takes the turns of the runtime.
pub const WORKER_HEADER: &str = "matins-runtime-worker";

/// The longest body of a request, in bytes. The largest are rows of a transcript, of which a turn keeps up to
/// [`model::limits::TURN_BYTES`], and JSON escapes may double them.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// The size from which rows of a transcript are sent in several requests, in bytes of text.
pub const RECORD_BATCH_BYTES: usize = 1 << 20;

/// The longest time for which a server waits before it responds, in milliseconds. It is shorter than the time limit of
/// requests.
pub const MAX_WAIT_MILLIS: u64 = 20_000;

/// A stored value that does not follow the rules of the domain, such as a currency without a name.
#[derive(Debug, thiserror::Error)]
#[error("invalid `{field}`: {reason}")]
pub struct InvalidField {
    /// The path of the field.
    pub field: &'static str,
    /// The mistake, and the accepted values.
    pub reason: String,
}

impl InvalidField {
    pub(crate) fn new(field: &'static str, reason: &impl ToString) -> Self {
        Self {
            field,
            reason: reason.to_string(),
        }
    }
}
