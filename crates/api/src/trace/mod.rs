//! Live traces: the events of a session, an automation or a tenant, as Server-Sent Events.
//!
//! A [`Hub`] has one task for the whole process. The task reads the new events of each traced log once, and encodes
//! them into frames that all readers of that log share. A reader that is behind these frames reads pages of the table
//! itself.
//!
//! **Invariants:** each reader has a cursor of its own. It sends the events that the table has after the cursor, in
//! the order of the table, without gaps and duplicates; notifications only decide when the task reads. For each
//! reader the process keeps a cursor and one page, and nothing else, so that a slow reader costs a bounded amount of
//! memory.

mod cursor;
mod frame;
mod hub;
mod log_source;
mod reader;
mod ring;
mod sent_positions;
mod shared_log;
mod text_reader;

pub use cursor::{InvalidCursor, feed_cursor, session_cursor};
pub use hub::{Hub, TraceSettings};
pub use reader::Trace;
