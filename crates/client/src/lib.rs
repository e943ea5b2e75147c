//! The HTTP client of the API: one typed method for each operation, over a network, over a private socket, or
//! directly to routes in the same process.
//!
//! **Invariants:** the client accesses no database and makes no decisions: it sends a request as the caller made it
//! and returns the response as the server sent it. A request that creates something has an idempotency key, so that a
//! retry after a broken connection does not create it twice. The client sends a token only to the server that the
//! caller named, and follows no redirects.

mod calls;
mod client;
mod error;
mod events;
mod request;
mod socket;
mod trace;
mod transport;

pub use calls::{
    ApprovalFilter, ApprovalStates, AutomationFilter, MessageRange, PageParams, RunFilter,
    SessionFilter, SessionMove, Tagged,
};
pub use client::Client;
pub use error::{BoxError, Error};
pub use events::{EventParser, EventTooLong, ServerEvent};
pub use socket::SocketAddress;
pub use trace::{ReceivedEvent, Trace, TraceItem, TraceSubject};
pub use transport::Body;
