//! An open database: owns the connection pools and begins transactions.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use crate::{
    error::{Error, UniqueIndexes},
    listener::ListenAddress,
    observer::CommitObserver,
    pooling::{ConnectionProperties, PoolingMode},
    scope::Scope,
    statement::Dialect,
    tx::{self, Tx},
};

/// The weight of the errors after which a transaction is not tried again; see `Error::retry_weight` of `store`.
const MAX_RETRY_WEIGHT: u32 = 20;
/// The same limit without locks. It is higher because SQLite refuses at once, without a wait, a transaction that has
/// read and wants to write while another transaction writes.
const MAX_RETRY_WEIGHT_WITHOUT_LOCKS: u32 = 1000;

/// An open database. Clones share its pools.
#[derive(Debug, Clone)]
pub struct Database {
    pools: Pools,
    locks_rows: bool,
    observer: Option<Arc<dyn CommitObserver>>,
}

/// The number of connections in the pool of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    /// The number of connections that run a transaction.
    pub in_use: u32,
    /// The number of connections that no transaction uses.
    pub idle: u32,
}

#[derive(Debug, Clone)]
pub(crate) enum Pools {
    Postgres(PgPool, Arc<ConnectionProperties>),
    /// A file, or a database in memory. In memory, both pools are the same pool.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
        unique_indexes: Arc<UniqueIndexes>,
    },
}

impl Database {
    pub(crate) fn new(pools: Pools) -> Self {
        Self {
            pools,
            locks_rows: true,
            observer: None,
        }
    }

    /// Returns the same database with an observer of its commits.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn CommitObserver>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Returns the same database without row locks: statements run in their SQLite text, which has no locks, and
    /// transactions on SQLite take the write lock at their first write. Tests use it to show that the constraints
    /// hold without the locks.
    #[cfg(feature = "test-support")]
    #[must_use]
    pub fn without_locks(&self) -> Self {
        Self {
            pools: self.pools.clone(),
            locks_rows: false,
            observer: self.observer.clone(),
        }
    }

    /// Returns the weight of the errors after which a transaction is not tried again.
    pub fn max_retry_weight(&self) -> u32 {
        if self.locks_rows {
            MAX_RETRY_WEIGHT
        } else {
            MAX_RETRY_WEIGHT_WITHOUT_LOCKS
        }
    }

    /// Returns the dialect of the database.
    pub fn dialect(&self) -> Dialect {
        match &self.pools {
            Pools::Postgres(..) => Dialect::Postgres,
            Pools::Sqlite { .. } => Dialect::Sqlite,
        }
    }

    /// Returns how a pooler treats the connections to PostgreSQL. Returns `None` on SQLite.
    pub fn pooling_mode(&self) -> Option<PoolingMode> {
        match &self.pools {
            Pools::Postgres(_, properties) => Some(properties.pooling_mode),
            Pools::Sqlite { .. } => None,
        }
    }

    /// Begins a transaction that may write.
    ///
    /// On SQLite, the transaction takes the write lock at once (`BEGIN IMMEDIATE`), because a transaction that reads
    /// first and writes later would fail without waiting. On PostgreSQL, it is READ COMMITTED, so that a statement
    /// that follows a lock sees the rows that the previous lock holder wrote.
    pub async fn begin(&self, scope: Scope) -> Result<Tx, Error> {
        match &self.pools {
            Pools::Postgres(pool, properties) => {
                self.begin_postgres(pool, properties, "begin", scope).await
            }
            Pools::Sqlite {
                writer,
                unique_indexes: unique,
                ..
            } => {
                let begin = if self.locks_rows {
                    "begin immediate"
                } else {
                    "begin"
                };
                let transaction = writer.begin_with(begin).await;
                let transaction =
                    transaction.map_err(|error| Error::of_sqlite("begin", error, unique))?;
                Ok(Tx::sqlite(
                    transaction,
                    scope,
                    unique.clone(),
                    self.observer.clone(),
                ))
            }
        }
    }

    /// Begins a transaction that only reads and that sees one snapshot of the database.
    ///
    /// On SQLite, it does not wait for a writer. The caller may drop the transaction instead of ending it.
    pub async fn begin_read(&self, scope: Scope) -> Result<Tx, Error> {
        match &self.pools {
            Pools::Postgres(pool, properties) => {
                let begin = "begin isolation level repeatable read, read only";
                self.begin_postgres(pool, properties, begin, scope).await
            }
            Pools::Sqlite {
                readers,
                unique_indexes: unique,
                ..
            } => {
                let transaction = readers.begin_with("begin").await;
                let transaction =
                    transaction.map_err(|error| Error::of_sqlite("begin", error, unique))?;
                Ok(Tx::sqlite(
                    transaction,
                    scope,
                    unique.clone(),
                    self.observer.clone(),
                ))
            }
        }
    }

    /// Closes all connections once their transactions have ended.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Postgres(pool, _) => pool.close().await,
            Pools::Sqlite {
                writer, readers, ..
            } => {
                // Close the writer last: the last connection to close folds the write-ahead log into the file, and a
                // reader cannot write to it.
                readers.close().await;
                writer.close().await;
            }
        }
    }

    /// Returns the size of the pool. Returns `None` on SQLite.
    pub fn pool_size(&self) -> Option<PoolSize> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres(pool, _) => {
                let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
                let in_use = pool.size().saturating_sub(idle);
                Some(PoolSize { in_use, idle })
            }
        }
    }

    /// Returns the address at which notifications are listened for. Returns `None` on SQLite, and if a pooler stands
    /// before the server and no direct address is configured.
    pub fn listen_address(&self) -> Option<ListenAddress> {
        match &self.pools {
            Pools::Postgres(_, properties) => properties.listen_address.clone().map(ListenAddress),
            Pools::Sqlite { .. } => None,
        }
    }

    /// Waits for `work` while the database is open. Returns `None` once the database is closed.
    pub async fn while_open<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut closed = match &self.pools {
            Pools::Postgres(pool, _) => pool.close_event(),
            Pools::Sqlite { readers, .. } => readers.close_event(),
        };
        closed.do_until(work).await.ok()
    }

    /// Begins a transaction and sets its scope and the settings that the connection does not keep, in one round trip.
    ///
    /// The pool does not test connections before it lends them, so a connection that died while idle fails here.
    /// Nothing has been done on it yet, so the next one is tried, once for each connection that was idle at the
    /// beginning.
    async fn begin_postgres(
        &self,
        pool: &PgPool,
        properties: &ConnectionProperties,
        begin: &str,
        scope: Scope,
    ) -> Result<Tx, Error> {
        let (setting, value) = scope.setting();
        let preamble = &properties.preamble;
        // Safe: the text consists of constants and a UUID.
        let statement = format!("{begin}{preamble}; set local {setting} = '{value}'");
        let mut retries_left = pool.num_idle();
        loop {
            // Run it in a task of its own, which ends even if the caller's future is dropped. Otherwise a connection
            // could return to the pool in the middle of this statement, inside a transaction with another tenant's
            // scope.
            let (pool, statement) = (pool.clone(), AssertSqlSafe(statement.clone()));
            let begin_task = tokio::spawn(async move { pool.begin_with(statement).await });
            let transaction = async { begin_task.await.unwrap_or(Err(sqlx::Error::WorkerCrashed)) };
            match tx::with_reply_timeout("begin", transaction).await {
                Ok(transaction) => {
                    let observer = self.observer.clone();
                    let prepares = properties.keeps_prepared_statements();
                    return Ok(Tx::postgres(
                        transaction,
                        scope,
                        self.locks_rows,
                        prepares,
                        observer,
                    ));
                }
                Err(Error::Connection { .. }) if retries_left > 0 => retries_left -= 1,
                Err(error) => return Err(error),
            }
        }
    }
}
