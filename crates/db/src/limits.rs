//! Limits of connections.

use std::time::Duration;

/// The maximum number of connections that one process opens to PostgreSQL.
pub const MAX_POSTGRES_CONNECTIONS: u32 = 10;
/// The number of connections that read from a SQLite file, beside the one that writes.
pub(crate) const SQLITE_READERS: u32 = 4;
/// The number of statements that a connection keeps prepared.
pub(crate) const MAX_PREPARED_STATEMENTS: usize = 512;
/// The maximum wait for a connection, or for SQLite's write lock.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum wait for a reply of PostgreSQL. It exceeds the server's `statement_timeout`.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(70);
