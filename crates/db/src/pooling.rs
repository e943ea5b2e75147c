//! The connection to a PostgreSQL server, and the state that it keeps between transactions.

use sqlx::postgres::PgConnectOptions;

/// The state that a connection to PostgreSQL keeps between transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolingMode {
    /// Each connection is a session of its own, as without a pooler.
    Session,
    /// A pooler lends each connection out for one transaction: statements cannot stay prepared, and no client can
    /// listen for notifications through it.
    Transaction {
        /// `true` if a direct address is configured at which notifications are listened for.
        has_direct_address: bool,
    },
}

/// The properties of the connection to a PostgreSQL server.
#[derive(Debug)]
pub(crate) struct ConnectionProperties {
    /// The state that the pool's connections keep.
    pub(crate) pooling_mode: PoolingMode,
    /// The settings that each transaction sets because its connection does not keep them: empty, or statements that
    /// follow `begin`, each after a semicolon.
    pub(crate) preamble: String,
    /// The address to listen at. `None` if no address allows it.
    pub(crate) listen_address: Option<PgConnectOptions>,
}

impl ConnectionProperties {
    /// Returns `true` if each connection keeps statements prepared.
    pub(crate) fn keeps_prepared_statements(&self) -> bool {
        self.pooling_mode == PoolingMode::Session
    }
}
