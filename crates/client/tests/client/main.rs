//! The client against small servers.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod broken_connections;
mod requests;
mod servers;
mod traces;
