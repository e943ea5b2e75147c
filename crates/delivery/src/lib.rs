//! Parses and formats trigger files: the form in which a run is delivered to an instance, a folder or a pod.
//!
//! [`TriggerName`] is the name of a file by which the server delivers a run, and [`RunTrigger`] its content. A reader
//! takes a [`Trigger`] from the content of any file: the run that the server delivers, or the request of another
//! program for a run of an automation. [`InvalidName`] and [`InvalidTrigger`] are the reasons to refuse a file;
//! [`MalformedContent`] and [`ContentLimit`] are those of JSON that cannot be parsed safely. Read `trigger.rs` first.
//!
//! **Invariants:** this crate accesses no database and no agent, and does no I/O: it parses and formats names and
//! contents. The crate `trigger-folder` writes and reads the files.
//!
//! Any process that can write into the folder can drop a file, so the parser trusts no part of it: a content has
//! limits of size, depth and number of values, a duplicate field is refused, and an error names the field, its value
//! and the accepted values. Unknown fields are kept and listed, because a later version may have written them.

mod file_name;
mod run_trigger;
mod trigger;
mod untrusted_json;

pub use file_name::{InvalidName, TriggerName};
pub use run_trigger::RunTrigger;
pub use trigger::{ForeignTrigger, InvalidTrigger, Trigger, TriggerKind, TriggerRequest};
pub use untrusted_json::{ContentLimit, MalformedContent};

/// The maximum size of a file, in bytes: enough for the longest text with each byte escaped as `\u00XX`.
pub const MAX_FILE_BYTES: usize = 8 << 20;
/// The maximum nesting depth of a content.
pub const MAX_DEPTH: usize = 16;
/// The maximum number of values in a content.
pub const MAX_VALUES: usize = 10_000;
/// The maximum number of MCP servers in a file.
pub const MAX_MCP_SERVERS: usize = 64;

const _: () = assert!(model::limits::CONTENT_BYTES * 6 < MAX_FILE_BYTES);
