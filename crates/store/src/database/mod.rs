//! One connection layer over both databases, so that a function is written once.
//!
//! A transition takes a [`Tx`] of a [`Scope`], runs [`Statement`]s with [`Param`]s, reads [`Row`]s
//! and commits. The dialects differ in the text of a statement and in the column types, and both
//! differences end here.
//!
//! Public for the conformance suite, which must break the schema's rules on purpose. Other crates
//! use what is built on it.

mod error;
mod link;
mod param;
mod row;
mod scope;
#[macro_use]
mod statement;
mod tx;

use std::{sync::Arc, time::Duration};

use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

pub use error::Error;
pub(crate) use error::UniqueIndexes;
pub(crate) use link::Link;
pub use link::Sessions;
pub use param::Param;
pub use row::{Row, Stored};
pub use scope::Scope;
pub use statement::{Dialect, Statement, executed};
pub use tx::Tx;

use crate::waking::Wakes;

/// Connections that one process opens to PostgreSQL at the most.
pub(crate) const POSTGRES_CONNECTIONS: u32 = 10;
/// Connections that read from a SQLite file beside the one that writes.
pub(crate) const SQLITE_READERS: u32 = 4;
/// Statements that a connection keeps prepared.
pub(crate) const PREPARED_STATEMENTS: usize = 512;
/// How long to wait for a connection, or for SQLite's write lock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long PostgreSQL may say nothing: longer than the server lets any statement run.
pub(crate) const SILENCE: Duration = Duration::from_secs(70);

/// How much may go wrong before a transaction's error is given; see [`crate::Error::weight`].
const RACES: u32 = 20;
/// The same without locks: SQLite refuses at once, not after a wait, whoever has read and wants to write
/// while another writes.
const RACES_WITHOUT_LOCKS: u32 = 1000;

/// An open database; cheap to clone.
#[derive(Debug, Clone)]
pub struct Database {
    pools: Pools,
    locks: bool,
    wakes: Arc<Wakes>,
}

#[derive(Debug, Clone)]
pub(crate) enum Pools {
    Postgres(PgPool, Arc<Link>),
    /// Both pools are the same one for a database in memory.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
        unique: Arc<UniqueIndexes>,
    },
}

impl Database {
    pub(crate) fn new(pools: Pools) -> Self {
        Self {
            pools,
            locks: true,
            wakes: Arc::default(),
        }
    }

    /// The same database without the code's row locks: statements run in their SQLite text, which has
    /// none, and SQLite's transactions take the write lock only when they write. For tests that show
    /// that the constraints hold by themselves.
    #[doc(hidden)]
    #[must_use]
    pub fn without_locks(&self) -> Self {
        Self {
            pools: self.pools.clone(),
            locks: false,
            wakes: Arc::clone(&self.wakes),
        }
    }

    /// How often a transaction is done again that loses.
    pub(crate) fn races(&self) -> u32 {
        if self.locks {
            RACES
        } else {
            RACES_WITHOUT_LOCKS
        }
    }

    /// Which of the two databases this is.
    pub fn dialect(&self) -> Dialect {
        match &self.pools {
            Pools::Postgres(..) => Dialect::Postgres,
            Pools::Sqlite { .. } => Dialect::Sqlite,
        }
    }

    /// What the connections to PostgreSQL keep from one transaction to the next; `None` on SQLite.
    pub fn sessions(&self) -> Option<Sessions> {
        match &self.pools {
            Pools::Postgres(_, link) => Some(link.sessions),
            Pools::Sqlite { .. } => None,
        }
    }

    /// Begins a transaction that may write.
    ///
    /// On SQLite it takes the write lock at once (`BEGIN IMMEDIATE`): a transaction that reads
    /// first and writes later would fail without waiting. On PostgreSQL it is READ COMMITTED, so
    /// that a statement after a lock sees what the former holder wrote.
    pub async fn begin(&self, scope: Scope) -> Result<Tx, Error> {
        match &self.pools {
            Pools::Postgres(pool, link) => self.begin_postgres(pool, link, "begin", scope).await,
            Pools::Sqlite { writer, unique, .. } => {
                let begin = if self.locks {
                    "begin immediate"
                } else {
                    "begin"
                };
                let transaction = writer.begin_with(begin).await;
                let transaction = transaction.map_err(|error| Error::of("begin", error, unique))?;
                Ok(Tx::sqlite(
                    transaction,
                    scope,
                    unique.clone(),
                    self.wakes.clone(),
                ))
            }
        }
    }

    /// Begins a transaction that only reads, and sees one state of the database throughout.
    ///
    /// On SQLite it waits for no writer. Dropping it is the usual end.
    pub async fn read(&self, scope: Scope) -> Result<Tx, Error> {
        match &self.pools {
            Pools::Postgres(pool, link) => {
                let begin = "begin isolation level repeatable read, read only";
                self.begin_postgres(pool, link, begin, scope).await
            }
            Pools::Sqlite {
                readers, unique, ..
            } => {
                let transaction = readers.begin_with("begin").await;
                let transaction = transaction.map_err(|error| Error::of("begin", error, unique))?;
                Ok(Tx::sqlite(
                    transaction,
                    scope,
                    unique.clone(),
                    self.wakes.clone(),
                ))
            }
        }
    }

    /// Closes all connections, after the transactions that are under way.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Postgres(pool, _) => pool.close().await,
            Pools::Sqlite {
                writer, readers, ..
            } => {
                // The writer last: the last connection to close folds the log into the file.
                readers.close().await;
                writer.close().await;
            }
        }
    }

    /// Where those wait who want to know of changes.
    pub(crate) fn wakes(&self) -> &Arc<Wakes> {
        &self.wakes
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Begins, sets the scope, and whatever else the connection does not keep, in one round trip.
    ///
    /// Connections are not tested before they are used, so one that died while idle is found here,
    /// where nothing has been done yet and another can be tried.
    async fn begin_postgres(
        &self,
        pool: &PgPool,
        link: &Link,
        begin: &str,
        scope: Scope,
    ) -> Result<Tx, Error> {
        let (setting, value) = scope.setting();
        let preamble = &link.preamble;
        // Safe: all are made here, from fixed texts and a UUID.
        let statement = format!("{begin}{preamble}; set local {setting} = '{value}'");
        let mut spare = pool.num_idle();
        loop {
            // In a task of its own, which comes to its end whoever stops waiting: a connection that is given
            // back in the middle of this would be in a transaction already, of somebody else's scope.
            let (pool, statement) = (pool.clone(), AssertSqlSafe(statement.clone()));
            let begun = tokio::spawn(async move { pool.begin_with(statement).await });
            let begun = async { begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed)) };
            match tx::in_time("begin", begun).await {
                Ok(transaction) => {
                    let wakes = self.wakes.clone();
                    let prepares = link.prepares();
                    return Ok(Tx::postgres(
                        transaction,
                        scope,
                        self.locks,
                        prepares,
                        wakes,
                    ));
                }
                Err(Error::Connection { .. }) if spare > 0 => spare -= 1,
                Err(error) => return Err(error),
            }
        }
    }
}
