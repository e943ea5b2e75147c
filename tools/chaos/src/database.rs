//! The database of the servers under test, which the test reads beside them.

use std::{fs, sync::Arc};

use anyhow::Result;
use serde::de::DeserializeOwned;

use super::{
    blocking::blocking, postgres::Postgres, proxy::Proxy, queries::Query, sqlite::SqliteFile,
};

/// The database of the servers.
pub(crate) enum Database {
    /// A PostgreSQL server, with the proxy between it and one of the servers of Matins.
    Postgres { server: Arc<Postgres>, proxy: Proxy },
    /// The file of the only server of Matins.
    Sqlite(SqliteFile),
}

impl Database {
    /// Returns the rows of a query.
    pub(crate) async fn rows<T: DeserializeOwned + Send + 'static>(
        &self,
        query: Query,
    ) -> Result<Vec<T>> {
        match self {
            Self::Postgres { server, .. } => {
                let server = Arc::clone(server);
                blocking(move || server.rows(query.postgres)).await
            }
            Self::Sqlite(file) => file.rows(query.sqlite).await,
        }
    }

    /// Executes a statement and returns the number of changed rows.
    pub(crate) async fn execute(&self, statement: Query) -> Result<u64> {
        match self {
            Self::Postgres { server, .. } => {
                let server = Arc::clone(server);
                blocking(move || server.execute(statement.postgres)).await
            }
            Self::Sqlite(file) => file.execute(statement.sqlite).await,
        }
    }

    /// Returns the texts of the database that must hold no secret, each with its name.
    pub(crate) async fn texts(&self) -> Result<Vec<(String, String)>> {
        match self {
            Self::Postgres { server, .. } => {
                let server = Arc::clone(server);
                blocking(move || {
                    let log = fs::read_to_string(server.log_path())?;
                    Ok(vec![
                        ("the database".to_owned(), server.dump()?),
                        ("PostgreSQL's log".to_owned(), log),
                    ])
                })
                .await
            }
            Self::Sqlite(file) => Ok(vec![("the database".to_owned(), file.dump().await?)]),
        }
    }

    /// Returns the password of the servers. Returns `None` if the database needs none.
    pub(crate) fn password(&self) -> Option<&str> {
        match self {
            Self::Postgres { server, .. } => Some(&server.password),
            Self::Sqlite(_) => None,
        }
    }
}
