//! One transaction on either database.

mod by_keys;

use std::sync::Arc;

use sqlx::{
    Postgres, Sqlite, Transaction, postgres::PgArguments, query::Query, sqlite::SqliteArguments,
};
use uuid::Uuid;

use crate::{
    error::{Error, UniqueIndexes},
    limits::REPLY_TIMEOUT,
    observer::CommitObserver,
    param::{Column, Param},
    row::Row,
    scope::Scope,
    statement::{CHUNK_SIZES, Dialect, Positional, Statement},
};

/// A transaction. It rolls back if it is dropped without [`Tx::commit`].
///
/// After an error on PostgreSQL, the transaction is aborted: the caller can only drop it.
#[derive(Debug)]
pub struct Tx {
    scope: Scope,
    connection: Connection,
    observer: Option<Arc<dyn CommitObserver>>,
    /// The IDs that the observer receives after the commit.
    changed_ids: Vec<Uuid>,
}

#[derive(Debug)]
enum Connection {
    Postgres(Transaction<'static, Postgres>, StatementMode),
    Sqlite(Transaction<'static, Sqlite>, Arc<UniqueIndexes>),
}

/// The settings of the statements of a transaction on PostgreSQL.
#[derive(Debug, Clone, Copy)]
struct StatementMode {
    /// The dialect of the statements' texts. It is SQLite's if the row locks are taken out.
    dialect: Dialect,
    /// `true` if the connection keeps statements prepared.
    keeps_prepared_statements: bool,
}

/// Waits for a reply of PostgreSQL for at most `REPLY_TIMEOUT`, which is longer than the server's own
/// `statement_timeout`. A longer silence means that the server has vanished, and without this limit the caller would
/// wait until TCP gives up.
pub(crate) async fn with_reply_timeout<T>(
    statement: &'static str,
    reply: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, Error> {
    let result = match tokio::time::timeout(REPLY_TIMEOUT, reply).await {
        Ok(result) => result,
        Err(elapsed) => Err(sqlx::Error::Io(elapsed.into())),
    };
    result.map_err(|error| Error::of_postgres(statement, error))
}

/// The parameters of a statement, in one of the forms that a database accepts.
enum BatchParams {
    /// The parameters of at most one row, then those of the whole statement.
    One(Vec<Param>),
    /// The parameters of `2^power` rows, one row after the other, then those of the whole statement.
    Chunk(usize, Vec<Param>),
    /// The keys of all rows as one array in JSON, then the parameters of the whole statement.
    Keys(Vec<Param>),
    /// One array for each parameter of a row, then the parameters of the whole statement.
    Arrays(Vec<Column>, Vec<Param>),
}

/// Runs a driver's method with a statement and its parameters, and names the statement in errors.
macro_rules! run {
    ($tx:expr, $statement:expr, $rows:expr, $method:ident) => {
        match &mut $tx.connection {
            Connection::Postgres(connection, manner) => postgres_query($statement, *manner, $rows)
                .$method(&mut **connection)
                .await
                .map(DriverReply::Postgres)
                .map_err(|error| Error::of_postgres($statement.name(), error)),
            Connection::Sqlite(connection, unique) => sqlite_query($statement, $rows)
                .$method(&mut **connection)
                .await
                .map(DriverReply::Sqlite)
                .map_err(|error| Error::of_sqlite($statement.name(), error, unique)),
        }
    };
}

/// A driver's reply.
enum DriverReply<P, S> {
    Postgres(P),
    Sqlite(S),
}

impl Tx {
    pub(crate) fn postgres(
        transaction: Transaction<'static, Postgres>,
        scope: Scope,
        locks: bool,
        prepares: bool,
        observer: Option<Arc<dyn CommitObserver>>,
    ) -> Self {
        let dialect = if locks {
            Dialect::Postgres
        } else {
            Dialect::Sqlite
        };
        Self {
            scope,
            connection: Connection::Postgres(
                transaction,
                StatementMode {
                    dialect,
                    keeps_prepared_statements: prepares,
                },
            ),
            observer,
            changed_ids: Vec::new(),
        }
    }

    pub(crate) fn sqlite(
        transaction: Transaction<'static, Sqlite>,
        scope: Scope,
        unique: Arc<UniqueIndexes>,
        observer: Option<Arc<dyn CommitObserver>>,
    ) -> Self {
        Self {
            scope,
            connection: Connection::Sqlite(transaction, unique),
            observer,
            changed_ids: Vec::new(),
        }
    }

    /// Records the ID of something that this transaction changes, for the observer of the database. Returns `true` if
    /// it is the first ID.
    pub fn note_change(&mut self, id: Uuid) -> bool {
        let is_first = self.changed_ids.is_empty();
        // A transaction usually notes the same log several times in a row. A repeated ID does no harm.
        if self.changed_ids.last() != Some(&id) {
            self.changed_ids.push(id);
        }
        is_first
    }

    /// Returns the dialect of the transaction's database.
    pub fn dialect(&self) -> Dialect {
        match self.connection {
            Connection::Postgres(..) => Dialect::Postgres,
            Connection::Sqlite(..) => Dialect::Sqlite,
        }
    }

    /// Returns the scope of the rows that this transaction may touch.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns `true` if statements lock rows, because other transactions may write at the same time. Returns `false`
    /// on SQLite, where the one writer has locked the whole database, and in tests that take the locks out.
    pub fn locks_rows(&self) -> bool {
        matches!(
            self.connection,
            Connection::Postgres(_, mode) if mode.dialect == Dialect::Postgres
        )
    }

    /// Returns `true` if the server keeps the plans of statements. Returns `false` on SQLite and on a connection that
    /// prepares no statements.
    pub fn keeps_plans(&self) -> bool {
        self.locks_rows()
            && matches!(self.connection, Connection::Postgres(_, mode) if mode.keeps_prepared_statements)
    }

    /// Locks rows until the end of the transaction. The statement must take the rows' IDs and do nothing else. Does
    /// nothing if [`Self::locks_rows`] is `false`.
    pub async fn lock_rows(
        &mut self,
        statement: &'static Statement,
        rows: Vec<Vec<Param>>,
    ) -> Result<(), Error> {
        if self.locks_rows() {
            self.fetch_rows(statement, rows, Vec::new()).await?;
        }
        Ok(())
    }

    /// Runs a statement and returns all rows of its result.
    pub async fn fetch_all(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<Vec<Row>, Error> {
        self.fetch_batch(statement, BatchParams::One(params)).await
    }

    async fn fetch_batch(
        &mut self,
        statement: &'static Statement,
        rows: BatchParams,
    ) -> Result<Vec<Row>, Error> {
        let name = statement.name();
        #[cfg(feature = "failpoints")]
        statement.fail_before();
        Ok(match run!(self, statement, rows, fetch_all)? {
            DriverReply::Postgres(rows) => {
                rows.into_iter().map(|r| Row::postgres(name, r)).collect()
            }
            DriverReply::Sqlite(rows) => rows.into_iter().map(|r| Row::sqlite(name, r)).collect(),
        })
    }

    /// Runs a statement and returns its row. Returns `None` if there is no row.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] if the statement returns more than one row.
    pub async fn fetch_optional(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<Option<Row>, Error> {
        let name = statement.name();
        // Fetch all rows, not only the first one: on SQLite, a driver that stops at the first row leaves the rest of
        // a writing statement undone.
        let mut rows = self.fetch_all(statement, params).await?;
        let row = rows.pop();
        if rows.is_empty() {
            Ok(row)
        } else {
            Err(Error::TooManyRows { statement: name })
        }
    }

    /// Runs a statement that returns exactly one row.
    ///
    /// # Errors
    ///
    /// [`Error::NoRow`] and [`Error::TooManyRows`] if it returns none, or more than one.
    pub async fn fetch_one(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<Row, Error> {
        self.fetch_optional(statement, params)
            .await?
            .ok_or(Error::NoRow {
                statement: statement.name(),
            })
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub async fn execute(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<u64, Error> {
        self.execute_batch(statement, BatchParams::One(params))
            .await
    }

    async fn execute_batch(
        &mut self,
        statement: &'static Statement,
        rows: BatchParams,
    ) -> Result<u64, Error> {
        #[cfg(feature = "failpoints")]
        statement.fail_before();
        Ok(match run!(self, statement, rows, execute)? {
            DriverReply::Postgres(result) => result.rows_affected(),
            DriverReply::Sqlite(result) => result.rows_affected(),
        })
    }

    /// Runs a statement that takes many rows, with the parameters of each row and those of the whole statement.
    /// Returns all rows of the results. Runs nothing if there are no rows.
    pub async fn fetch_rows(
        &mut self,
        statement: &'static Statement,
        rows: Vec<Vec<Param>>,
        whole: Vec<Param>,
    ) -> Result<Vec<Row>, Error> {
        let mut found = Vec::new();
        for rows in self.batches(statement, rows, whole)? {
            found.extend(self.fetch_batch(statement, rows).await?);
        }
        Ok(found)
    }

    /// Runs a statement that takes many rows. Returns the number of rows that it changed.
    pub async fn execute_rows(
        &mut self,
        statement: &'static Statement,
        rows: Vec<Vec<Param>>,
        whole: Vec<Param>,
    ) -> Result<u64, Error> {
        let mut changed = 0;
        for rows in self.batches(statement, rows, whole)? {
            changed += self.execute_batch(statement, rows).await?;
        }
        Ok(changed)
    }

    /// Divides rows into the batches that the database accepts: one batch of all rows on PostgreSQL, chunks on
    /// SQLite.
    fn batches(
        &self,
        statement: &'static Statement,
        rows: Vec<Vec<Param>>,
        whole: Vec<Param>,
    ) -> Result<Vec<BatchParams>, Error> {
        if !statement.takes_rows() {
            let statement = statement.name();
            return Err(Error::RowsNotAccepted { statement });
        }
        Ok(match (&self.connection, rows.len()) {
            (_, 0) => Vec::new(),
            (_, 1) => {
                let row = rows.into_iter().flatten().chain(whole);
                vec![BatchParams::One(row.collect())]
            }
            (Connection::Postgres(..), _) => arrays(rows, whole),
            (Connection::Sqlite(..), _) => chunks(rows, &whole),
        })
    }

    /// Undoes all changes and releases the locks before it returns. A transaction that is only dropped does so a
    /// moment later, when its connection returns to the pool.
    pub async fn rollback(self) -> Result<(), Error> {
        match self.connection {
            Connection::Postgres(transaction, _) => {
                with_reply_timeout("rollback", transaction.rollback()).await
            }
            Connection::Sqlite(transaction, unique) => transaction
                .rollback()
                .await
                .map_err(|error| Error::of_sqlite("rollback", error, &unique)),
        }
    }

    /// Makes the changes durable and visible at once, and informs the observer.
    ///
    /// After [`Error::Connection`], the caller cannot know whether the transaction was committed.
    pub async fn commit(self) -> Result<(), Error> {
        #[cfg(feature = "failpoints")]
        failpoint::reached("commit");
        // The observer does not count transactions without a recorded change.
        let observer = self.observer.filter(|_| !self.changed_ids.is_empty());
        let guard = observer.as_deref().map(CommitGuard::new);
        let committed = match self.connection {
            Connection::Postgres(transaction, _) => {
                with_reply_timeout("commit", transaction.commit()).await
            }
            Connection::Sqlite(transaction, unique) => transaction
                .commit()
                .await
                .map_err(|error| Error::of_sqlite("commit", error, &unique)),
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("committed");
        if let Some(guard) = guard {
            guard.finish(committed.is_ok(), &self.changed_ids);
        }
        committed
    }
}

/// A commit in progress. If it is dropped before the commit ends, it reports the commit as failed to the observer.
struct CommitGuard<'a>(Option<&'a dyn CommitObserver>);

impl<'a> CommitGuard<'a> {
    fn new(observer: &'a dyn CommitObserver) -> Self {
        observer.before_commit();
        Self(Some(observer))
    }

    fn finish(mut self, committed: bool, changed: &[Uuid]) {
        // Take the observer, so that the drop below does not report the commit a second time.
        let Some(observer) = self.0.take() else {
            return;
        };
        if !committed {
            observer.commit_failed();
        }
        observer.after_commit(changed);
    }
}

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.0 {
            observer.commit_failed();
        }
    }
}

/// Turns rows into one array per parameter. If a parameter has different types in different rows, returns one batch
/// per row, because an array has one type.
fn arrays(rows: Vec<Vec<Param>>, whole: Vec<Param>) -> Vec<BatchParams> {
    match Column::from_rows(rows) {
        Ok(columns) => vec![BatchParams::Arrays(columns, whole)],
        Err(rows) => {
            let alone = |row: Vec<Param>| {
                BatchParams::One(row.into_iter().chain(whole.iter().cloned()).collect())
            };
            rows.into_iter().map(alone).collect()
        }
    }
}

/// Divides rows into chunks whose sizes are powers of two, the largest first. Each chunk carries all parameters.
fn chunks(rows: Vec<Vec<Param>>, whole: &[Param]) -> Vec<BatchParams> {
    let mut chunks = Vec::new();
    let mut rest = rows.into_iter();
    while rest.len() > 0 {
        // Only powers of two, so that SQLite prepares few texts per statement.
        let power = (rest.len().ilog2() as usize).min(CHUNK_SIZES - 1);
        let mut params: Vec<Param> = rest.by_ref().take(1 << power).flatten().collect();
        params.extend_from_slice(whole);
        chunks.push(BatchParams::Chunk(power, params));
    }
    chunks
}

fn postgres_query(
    statement: &'static Statement,
    mode: StatementMode,
    rows: BatchParams,
) -> Query<'static, Postgres, PgArguments> {
    let (text, columns, params) = match rows {
        BatchParams::Arrays(columns, whole) => {
            (statement.postgres_array_text(mode.dialect), columns, whole)
        }
        // Unreachable for chunks and keys: only SQLite is given them.
        BatchParams::One(params) | BatchParams::Chunk(_, params) | BatchParams::Keys(params) => {
            (statement.postgres_text(mode.dialect), Vec::new(), params)
        }
    };
    // A statement that is not kept has no name on the server. Through a pooler, the name could collide with that of
    // another client's statement.
    let query = sqlx::query(text).persistent(mode.keeps_prepared_statements);
    let query = columns
        .into_iter()
        .fold(query, |query, column| column.bind(query));
    params
        .into_iter()
        .fold(query, |query, param| param.bind_postgres(query))
}

fn sqlite_query(
    statement: &'static Statement,
    rows: BatchParams,
) -> Query<'static, Sqlite, SqliteArguments> {
    let (Positional { text, order }, params) = match rows {
        BatchParams::Chunk(power, params) => (statement.sqlite_text(power), params),
        BatchParams::Keys(params) => (statement.sqlite_keys_text(), params),
        // Unreachable for arrays: only PostgreSQL is given them.
        BatchParams::One(params) | BatchParams::Arrays(_, params) => {
            (statement.sqlite_text(0), params)
        }
    };
    let mut params: Vec<Option<Param>> = params.into_iter().map(Some).collect();
    let mut last = vec![0; params.len()];
    for (position, at) in order.iter().enumerate() {
        if let Some(last) = last.get_mut(*at) {
            *last = position;
        }
    }
    let mut query = sqlx::query(text.as_str());
    for (position, at) in order.iter().enumerate() {
        // Clone a parameter that a later position needs again; move it at its last position.
        let Some(param) = params.get_mut(*at) else {
            continue;
        };
        let param = if last.get(*at) == Some(&position) {
            param.take()
        } else {
            param.clone()
        };
        if let Some(param) = param {
            query = param.bind_sqlite(query);
        }
    }
    query
}
