//! Assembles a Matins process: opens the data folder and the database, and runs the daemon, the API and the sockets
//! over them.
//!
//! - [`DataFolder`] holds the files of one instance, and [`ServeLock`] is the right to run its only server.
//! - [`LocalInstance`] is an opened data folder with its database. It builds the API routes of this process.
//! - [`Server`] runs the daemon and serves the API over a [`LocalInstance`].
//! - [`take_turn`] takes a single turn in a process without a server.
//! - [`connect_agent`] connects an agent to the tools of the process that takes its turn. [`listen_for_tools`] opens the
//!   socket of a runtime for it.
//! - [`contact_server`] finds the server of a data folder by its private socket.
//! - [`AgentProbe`] starts an agent to report its features.
//!
//! Read `local_instance.rs` first, then `server.rs`.
//!
//! **Invariants:** this crate has no terminal. It prints nothing and reads neither arguments nor environment
//! variables. Its callers pass the configuration, the path of the data folder and the environment that agents
//! inherit. This crate creates the system clock and the source of randomness; the crates below it receive both as
//! parameters.

mod data_folder;
mod error;
mod host;
mod instance_claim;
mod local_instance;
mod open_files;
mod probe;
mod server;
mod service_tools;
mod settings;
mod socket;
mod standalone;
mod system;
mod tools_socket;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use data_folder::{DATABASE_FILE_NAME, DataFolder, SERVE_LOCK_FILE_NAME, ServeLock};
pub use error::Error;
pub use local_instance::{GUARD_ARGUMENT, LocalInstance, guard_program};
pub use open_files::raise_limit as raise_open_files_limit;
pub use probe::AgentProbe;
pub use server::{NetworkAccess, Server};
pub use settings::{daemon_settings, database_location};
pub use socket::{ServerContact, contact_server};
pub use standalone::{newest_attempt, take_turn};
pub use system::{OsEntropy, SystemClock, SystemUptime, hostname};
pub use tools_socket::{connect_agent, listen_for_tools};
pub use turn::RUN_FILE_VARIABLE;
