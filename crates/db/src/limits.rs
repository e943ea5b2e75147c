//! Limits of connections.

use std::time::Duration;

/// Connections that one process opens to PostgreSQL at the most.
pub const POSTGRES_CONNECTIONS: u32 = 10;
/// Connections that read from a SQLite file beside the one that writes.
pub(crate) const SQLITE_READERS: u32 = 4;
/// Statements that a connection keeps prepared.
pub(crate) const PREPARED_STATEMENTS: usize = 512;
/// Maximum wait for a connection, or for SQLite's write lock.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum silence of PostgreSQL: longer than the server lets any statement run.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(70);
