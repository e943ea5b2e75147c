//! Takes turns in a folder, as a client of the API: a runtime serves one instance without the database.
//!
//! ```text
//! run --> FolderLoop --> FileWorker: read, parse, claim, take the turn, remove
//!    `--> presence of the runtime, which tells of cancellations
//!
//! turn::execute --> ApiTurnStore --> client::RuntimeClient --> the operations below /api/v1/runtime
//!                                          |
//!                   ServerClock <----------+  the server's `now` in responses
//! ```
//!
//! - [`run`] serves a trigger folder until it is stopped, under the conditions of a [`RuntimeConfig`].
//! - [`ApiTurnStore`] is the storage of a turn over the API. Each call can be repeated, and the server fences it by the
//!   run and the worker.
//! - [`ServerLink`] registers the runtime, renews its presence and claims runs.
//! - `ToolForwarder` passes the calls of the agents' tools on to the server.
//! - [`ServerClock`] is a clock that follows the server's, because the clock of this machine may be wrong.
//!
//! Read `runtime.rs` first, then `file_worker.rs`.
//!
//! **Invariants:** this crate knows no database. A turn is the same as on a server: it is [`turn::execute`]. A lease counts
//! from before its heartbeat is sent, by the uptime of this machine, so that an agent is dead before the server gives its
//! run up. A file leaves the folder only after its work is recorded at the server.

mod api_server;
mod api_turn_store;
mod file_worker;
mod folder_loop;
mod locks;
mod pending_files;
mod running_turns;
mod runtime;
mod server_clock;
mod server_link;
mod server_port;
mod tool_files;
mod tool_forwarder;
mod tool_messages;
mod tool_request;
mod turn_slots;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use api_turn_store::{ApiTurnStore, TurnContext};
pub use locks::LocksError;
pub use runtime::{RuntimeConfig, RuntimeError, RuntimeStop, run};
pub use server_clock::ServerClock;
pub use server_link::{Claim, ClaimedRun, Presence, Registered, ServerLink};
