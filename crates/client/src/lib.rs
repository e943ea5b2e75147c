//! The HTTP client of the API: one typed method for each operation, over a network, a private socket, or
//! routes that are in the same process.
//!
//! **Invariants:** knows no database and decides nothing: what is asked for goes out as it is, and what is
//! answered comes back as it is. What creates something is sent with a key, so that it is made once however
//! often the connection breaks. A token goes to the server that it was given for, and nowhere else.

mod calls;
mod client;
mod error;
mod events;
mod request;
mod socket;
mod trace;
mod transport;

pub use calls::{
    ApprovalFilter, ApprovalStates, AutomationFilter, MessagePart, Part, RunFilter, SessionFilter,
    SessionMove, Tagged,
};
pub use client::Client;
pub use error::{BoxError, Error};
pub use events::{EventParser, ServerEvent, TooLong};
pub use socket::SocketAddress;
pub use trace::{Received, Trace, TraceNews, TraceOf};
pub use transport::Body;
