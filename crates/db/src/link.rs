//! How a PostgreSQL server is reached, and what its connections keep from one transaction to the next.

use sqlx::postgres::PgConnectOptions;

/// What a connection to PostgreSQL keeps from one transaction to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Each is a session of its own, as without a pooler.
    Kept,
    /// A pooler lends connections out for one transaction each: nothing is prepared, and nobody can
    /// listen through it.
    NotKept {
        /// Whether a direct address is named, at which changes are listened for.
        direct: bool,
    },
}

/// How a PostgreSQL server is reached.
#[derive(Debug)]
pub(crate) struct Link {
    /// What the pool's connections keep.
    pub(crate) sessions: Sessions,
    /// What each transaction sets for itself, since its connection does not: nothing, or statements that
    /// follow `begin`, each after a semicolon.
    pub(crate) preamble: String,
    /// Where to listen; absent where nobody can.
    pub(crate) listener: Option<PgConnectOptions>,
}

impl Link {
    /// Whether statements are prepared once for each connection.
    pub(crate) fn prepares(&self) -> bool {
        self.sessions == Sessions::Kept
    }
}
