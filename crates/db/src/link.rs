//! The connection to a PostgreSQL server, and the state that it keeps between transactions.

use sqlx::postgres::PgConnectOptions;

/// The state that a connection to PostgreSQL keeps between transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Each connection is a session of its own, as without a pooler.
    Kept,
    /// A pooler lends each connection out for one transaction: statements cannot stay prepared, and no client can
    /// listen for notifications through it.
    Transaction {
        /// `true` if a direct address is configured at which notifications are listened for.
        direct: bool,
    },
}

/// The properties of the connection to a PostgreSQL server.
#[derive(Debug)]
pub(crate) struct Link {
    /// The state that the pool's connections keep.
    pub(crate) sessions: Sessions,
    /// The settings that each transaction sets because its connection does not keep them: empty, or statements that
    /// follow `begin`, each after a semicolon.
    pub(crate) preamble: String,
    /// The address to listen at. `None` if no address allows it.
    pub(crate) listener: Option<PgConnectOptions>,
}

impl Link {
    /// `true` if each connection keeps statements prepared.
    pub(crate) fn prepares(&self) -> bool {
        self.sessions == Sessions::Kept
    }
}
