//! The tools of Matins for the agents of running turns, over the Model Context Protocol (MCP).
//!
//! - [`serve`] speaks MCP with one agent over a stream, until the stream ends.
//! - [`answer`] answers one message of an agent whose stream ends at another process, a runtime.
//! - [`definitions`] lists the tools as an agent sees them.
//!
//! A tool is one row of `table::TOOLS`: its name, its texts, the schema of its input, and the function that it calls.
//! Read `tool.rs` first, then `memory.rs`.
//!
//! **Invariant:** a tool does nothing but call [`service::RunTools`], which proves the turn anew at each call.

mod artifacts;
mod ask_person;
mod cron;
mod definition;
mod early_notifications;
mod memory;
mod messages;
mod reply;
mod server;
mod table;
mod tasks;
mod tool;

pub use definition::definitions;
pub use server::{TurnTools, answer, serve};
