//! Trigger files: the form in which a run reaches an instance, a folder or a pod.
//!
//! **Invariants:** knows no database and no agent, and does no I/O: it reads and writes names and
//! contents. So far only its own tests and a fuzz target use it; what delivers files and what watches
//! for them is still to come.
//!
//! A file is dropped by anybody who can write into a folder, so nothing in it is believed without a
//! look: a content has limits of size, depth and number, an unknown or a doubled field is refused, and
//! an error names the field, what was there and what is accepted.

mod name;
mod strict;
mod trigger;

pub use name::{InvalidName, TriggerName};
pub use strict::{Limit, Malformed};
pub use trigger::{InvalidTrigger, Trigger, TriggerKind};

/// The longest file that is read, in bytes: the longest text, with each character escaped.
pub const FILE_BYTES: usize = 8 << 20;
/// How deep a content may be nested.
pub const DEPTH: usize = 16;
/// How many values a content may hold.
pub const VALUES: usize = 10_000;
/// How many MCP servers a file may name.
pub const MCP_SERVERS: usize = 64;

const _: () = assert!(model::limits::CONTENT_BYTES * 6 < FILE_BYTES);
