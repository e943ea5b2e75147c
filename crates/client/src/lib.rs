//! Calls the HTTP API of Matins, with one typed method for each operation.
//!
//! ```text
//! Client::sessions(), Client::fire_automation(), ...    calls/, one file for each kind of resource
//!    │
//!  Call ── a request with its retries and its idempotency key
//!    │
//!  Transport ── a network, a private socket, or routes in the same process
//!
//!  Client::trace() ── Trace ── EventParser               the live events, with reconnection
//! ```
//!
//! Every method returns [`Error`] on failure. [`SocketAddress`] is the address of a private socket.
//!
//! Read `request.rs` first.
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

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use calls::{
    ApprovalFilter, ApprovalStates, AutomationFilter, GoalFilter, MemoryOf, MessageRange,
    PageParams, QuestionFilter, QuestionStates, RunFilter, RuntimeClient, SeatMessageFilter,
    SessionFilter, SessionMove, Tagged, TimelineFilter, ToolsAnswer,
};
pub use client::Client;
pub use error::{BoxError, Error};
pub use events::{EventParser, EventTooLong, ServerEvent};
pub use socket::SocketAddress;
pub use trace::{ReceivedEvent, Trace, TraceItem, TraceSubject};
pub use transport::Body;
