//! One transaction on either database.

use std::sync::Arc;

use sqlx::{
    Postgres, Sqlite, Transaction, postgres::PgArguments, query::Query, sqlite::SqliteArguments,
};

use super::{Dialect, Error, Param, Row, Scope, Statement, UniqueIndexes};

/// A transaction. Dropped without [`Tx::commit`], it is as if it had never been.
///
/// After any error from PostgreSQL nothing more can be done in it but drop it.
#[derive(Debug)]
pub struct Tx {
    scope: Scope,
    connection: Connection,
}

#[derive(Debug)]
enum Connection {
    /// With the dialect in which it runs statements: SQLite's where the locks are taken out.
    Postgres(Transaction<'static, Postgres>, Dialect),
    Sqlite(Transaction<'static, Sqlite>, Arc<UniqueIndexes>),
}

/// Runs a driver's method with a statement and its parameters, and names the statement in errors.
macro_rules! run {
    ($tx:expr, $statement:expr, $params:expr, $method:ident) => {
        match &mut $tx.connection {
            Connection::Postgres(connection, dialect) => postgres($statement, *dialect, $params)
                .$method(&mut **connection)
                .await
                .map(Answer::Postgres)
                .map_err(|error| Error::of_postgres($statement.name(), error)),
            Connection::Sqlite(connection, unique) => sqlite($statement, $params)
                .$method(&mut **connection)
                .await
                .map(Answer::Sqlite)
                .map_err(|error| Error::of($statement.name(), error, unique)),
        }
    };
}

/// What a driver answered.
enum Answer<P, S> {
    Postgres(P),
    Sqlite(S),
}

impl Tx {
    pub(super) fn postgres(
        transaction: Transaction<'static, Postgres>,
        scope: Scope,
        locks: bool,
    ) -> Self {
        let dialect = if locks {
            Dialect::Postgres
        } else {
            Dialect::Sqlite
        };
        Self {
            scope,
            connection: Connection::Postgres(transaction, dialect),
        }
    }

    pub(super) fn sqlite(
        transaction: Transaction<'static, Sqlite>,
        scope: Scope,
        unique: Arc<UniqueIndexes>,
    ) -> Self {
        Self {
            scope,
            connection: Connection::Sqlite(transaction, unique),
        }
    }

    /// Whose rows this transaction may touch.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Runs a statement and reads all rows of its answer.
    pub async fn fetch_all(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<Vec<Row>, Error> {
        let name = statement.name();
        #[cfg(feature = "failpoints")]
        statement.fail_before();
        Ok(match run!(self, statement, params, fetch_all)? {
            Answer::Postgres(rows) => rows.into_iter().map(|r| Row::postgres(name, r)).collect(),
            Answer::Sqlite(rows) => rows.into_iter().map(|r| Row::sqlite(name, r)).collect(),
        })
    }

    /// Runs a statement that answers at most one row.
    pub async fn fetch_optional(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<Option<Row>, Error> {
        let name = statement.name();
        // All rows, not the first: a driver that stops at the first row leaves the rest of a
        // writing statement undone on SQLite.
        let mut rows = self.fetch_all(statement, params).await?;
        let row = rows.pop();
        if rows.is_empty() {
            Ok(row)
        } else {
            Err(Error::TooManyRows { statement: name })
        }
    }

    /// Runs a statement that answers exactly one row.
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

    /// Runs a statement and tells how many rows it changed.
    pub async fn execute(
        &mut self,
        statement: &'static Statement,
        params: Vec<Param>,
    ) -> Result<u64, Error> {
        #[cfg(feature = "failpoints")]
        statement.fail_before();
        Ok(match run!(self, statement, params, execute)? {
            Answer::Postgres(result) => result.rows_affected(),
            Answer::Sqlite(result) => result.rows_affected(),
        })
    }

    /// Undoes everything, and gives back its locks before this returns. A transaction that is only
    /// dropped does so a moment later.
    pub async fn rollback(self) -> Result<(), Error> {
        match self.connection {
            Connection::Postgres(transaction, _) => transaction
                .rollback()
                .await
                .map_err(|error| Error::of_postgres("rollback", error)),
            Connection::Sqlite(transaction, unique) => transaction
                .rollback()
                .await
                .map_err(|error| Error::of("rollback", error, &unique)),
        }
    }

    /// Makes the transaction's changes durable and visible, all at once.
    ///
    /// After [`Error::Connection`] it is unknown whether they are.
    pub async fn commit(self) -> Result<(), Error> {
        #[cfg(feature = "failpoints")]
        failpoint::reached("commit");
        let committed = match self.connection {
            Connection::Postgres(transaction, _) => transaction
                .commit()
                .await
                .map_err(|error| Error::of_postgres("commit", error)),
            Connection::Sqlite(transaction, unique) => transaction
                .commit()
                .await
                .map_err(|error| Error::of("commit", error, &unique)),
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("committed");
        committed
    }
}

fn postgres(
    statement: &Statement,
    dialect: Dialect,
    params: Vec<Param>,
) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(statement.text(dialect));
    params
        .into_iter()
        .fold(query, |query, param| param.bind_postgres(query))
}

fn sqlite(statement: &Statement, params: Vec<Param>) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(statement.text(Dialect::Sqlite));
    params
        .into_iter()
        .fold(query, |query, param| param.bind_sqlite(query))
}
