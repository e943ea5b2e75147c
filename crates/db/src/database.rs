//! An open database: its pools, and how a transaction begins.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

use crate::{
    error::{Error, UniqueIndexes},
    link::{Link, Sessions},
    listener::ListenAddress,
    observer::CommitObserver,
    scope::Scope,
    statement::Dialect,
    tx::{self, Tx},
};

/// How much may go wrong before a transaction's error is given; see `Error::weight` of `store`.
const RACES: u32 = 20;
/// The same without locks: SQLite refuses at once, not after a wait, whoever has read and wants to write
/// while another writes.
const RACES_WITHOUT_LOCKS: u32 = 1000;

/// An open database; cheap to clone.
#[derive(Debug, Clone)]
pub struct Database {
    pools: Pools,
    locks: bool,
    observer: Option<Arc<dyn CommitObserver>>,
}

/// The number of connections in the pool of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    /// Those that run a transaction.
    pub in_use: u32,
    /// Those that wait for one.
    pub idle: u32,
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
            observer: None,
        }
    }

    /// Returns the same database, whose commits `observer` observes from now on.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn CommitObserver>) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// The same database without the code's row locks: statements run in their SQLite text, which has
    /// none, and SQLite's transactions take the write lock only when they write. For tests that show
    /// that the constraints hold by themselves.
    #[cfg(feature = "test-support")]
    #[must_use]
    pub fn without_locks(&self) -> Self {
        Self {
            pools: self.pools.clone(),
            locks: false,
            observer: self.observer.clone(),
        }
    }

    /// How often a transaction is done again that loses.
    pub fn races(&self) -> u32 {
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
                    self.observer.clone(),
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
                    self.observer.clone(),
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

    /// Returns the size of the pool; `None` on SQLite.
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

    /// Returns the address at which notifications are listened for; `None` on SQLite, and where a pooler stands before
    /// the server and no direct address is named.
    pub fn listen_address(&self) -> Option<ListenAddress> {
        match &self.pools {
            Pools::Postgres(_, link) => link.listener.clone().map(ListenAddress),
            Pools::Sqlite { .. } => None,
        }
    }

    /// Waits for `work`, but no longer than the database is open. Returns `None` once it is closed.
    pub async fn while_open<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut closed = match &self.pools {
            Pools::Postgres(pool, _) => pool.close_event(),
            Pools::Sqlite { readers, .. } => readers.close_event(),
        };
        closed.do_until(work).await.ok()
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
                    let observer = self.observer.clone();
                    let prepares = link.prepares();
                    return Ok(Tx::postgres(
                        transaction,
                        scope,
                        self.locks,
                        prepares,
                        observer,
                    ));
                }
                Err(Error::Connection { .. }) if spare > 0 => spare -= 1,
                Err(error) => return Err(error),
            }
        }
    }
}
