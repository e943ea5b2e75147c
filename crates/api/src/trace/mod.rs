//! The live trace: what happens in a session, to an automation or for a tenant, as Server-Sent Events.
//!
//! **Invariants:** each reader has a cursor of its own, and what it is sent is what the table has after
//! it, in the table's order: wake-ups only say when to look. The newest events of what is watched are read
//! and encoded once, for all who read them; who is further behind reads pages of the table itself. Nothing
//! is kept for a reader but its cursor and one page.

mod cursor;
mod frame;
mod hub;
mod reader;
mod ring;
mod source;
mod watch;

pub use cursor::{InvalidCursor, feed_cursor, session_cursor};
pub use hub::{Hub, Settings};
pub use reader::Trace;
