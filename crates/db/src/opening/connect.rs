//! Connecting to a PostgreSQL server: directly, or through a pooler that may lend its connections out for one
//! transaction each.
//!
//! **Invariants:** a pooler is detected by its behavior, not by its name. If the behavior is unclear, the server is
//! treated as if it kept no sessions, which works everywhere. Nothing in this module depends on a session: each check
//! is one text, or runs in a transaction that sets the settings that it needs.

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::PgConnectOptions,
};
use tokio::time::timeout;

use super::error::OpenError;
use crate::{
    error::Error,
    limits::MAX_PREPARED_STATEMENTS,
    pooling::{ConnectionProperties, PoolingMode},
};

/// The settings that every transaction needs. They are set once for a connection, or at the beginning of each
/// transaction if connections do not keep them.
const TRANSACTION_SETTINGS: [(&str, &str); 5] = [
    ("search_path", "automation"),
    // Statements are short. Compiling one because its number of rows is overestimated takes a hundred times as long
    // as running it.
    ("jit", "off"),
    // A transaction never waits for anything but the database.
    ("idle_in_transaction_session_timeout", "15s"),
    // A statement must not wait forever either: a scheduler loop that hangs fires no trigger.
    ("lock_timeout", "30s"),
    ("statement_timeout", "60s"),
];
/// Selects the ID of the server process, and `true` if the settings of the connection hold there.
const BACKEND_QUERY: &str = "select pg_backend_pid() as pid, \
     current_setting('search_path') = 'automation' and current_setting('lock_timeout') = '30s' as has_settings";
/// The number of times that two connections are compared. A pooler with many server connections may by chance lend
/// the same one to a client twice.
const COMPARISON_ROUNDS: usize = 3;
/// The maximum wait for a pooler to lend a server process. After it, the pooler counts as having none to lend.
const LEND_TIMEOUT: Duration = Duration::from_secs(2);

/// The SQLSTATE with which a pooler refuses a request that the server itself accepts.
const PROTOCOL_VIOLATION: &str = "08P01";

/// The purpose for which a database is opened: to write, or only to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessMode {
    ReadWrite,
    ReadOnly,
}

/// A PostgreSQL server that accepted a connection.
pub(super) struct ServerConnection {
    /// The open connection. `None` if [`Self::keeps_sessions`] has abandoned it.
    connection: Option<PgConnection>,
    /// The options of further connections.
    pub(super) options: PgConnectOptions,
    access_mode: AccessMode,
    /// `true` if the server accepted the settings in the startup message.
    accepted_settings: bool,
}

/// Connects to a server. If it refuses the settings in the startup message, as poolers may, connects without them.
pub(super) async fn connect(
    options: &PgConnectOptions,
    purpose: AccessMode,
) -> Result<ServerConnection, OpenError> {
    let plain = options.clone().application_name("matins");
    let mut with_settings = plain
        .clone()
        .statement_cache_capacity(MAX_PREPARED_STATEMENTS)
        .options(TRANSACTION_SETTINGS);
    if purpose == AccessMode::ReadOnly {
        with_settings = with_settings.options([("default_transaction_read_only", "on")]);
    }
    let (mut connection, options) = match PgConnection::connect_with(&with_settings).await {
        Ok(connection) => (connection, with_settings),
        Err(error) if may_have_refused_settings(&error) => {
            let plain = plain.extra_float_digits(None);
            let connection = PgConnection::connect_with(&plain).await;
            (connection.map_err(step_error("connect"))?, plain)
        }
        Err(error) => return Err(step_error("connect")(error)),
    };
    let backend = query_backend(&mut connection, BACKEND_QUERY).await;
    let (_, accepted_settings) = backend.map_err(step_error("identify the server process"))?;
    Ok(ServerConnection {
        connection: Some(connection),
        options,
        access_mode: purpose,
        accepted_settings,
    })
}

/// Returns `true` if a connection may have been refused because of its settings, and not because of its role, its
/// database or the moment.
fn may_have_refused_settings(error: &sqlx::Error) -> bool {
    let Some(code) = sqlstate(error) else {
        return false;
    };
    // Sign-in refused; no such database; too many connections; starting up or shutting down.
    !["28", "3D", "53", "57"]
        .iter()
        .any(|class| code.starts_with(class))
}

/// Returns the SQLSTATE with which a server or a pooler refused a request.
fn sqlstate(error: &sqlx::Error) -> Option<String> {
    let refused = error.as_database_error()?;
    Some(refused.code().unwrap_or_default().into_owned())
}

/// Returns the ID of the server process behind a connection, with one text that is not prepared.
async fn query_backend(
    connection: &mut PgConnection,
    text: &'static str,
) -> Result<(i32, bool), sqlx::Error> {
    let row = connection.fetch_one(sqlx::raw_sql(text)).await?;
    Ok((row.try_get("pid")?, row.try_get("has_settings")?))
}

impl ServerConnection {
    /// Returns the connection. Connects again if there is none.
    pub(super) async fn connection(&mut self) -> Result<&mut PgConnection, OpenError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => PgConnection::connect_with(&self.options)
                .await
                .map_err(step_error("connect"))?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Closes the connection.
    pub(super) async fn close(self) -> Result<(), OpenError> {
        match self.connection {
            Some(connection) => connection.close().await.map_err(step_error("disconnect")),
            None => Ok(()),
        }
    }

    /// Returns the statements that follow `begin` if connections keep no settings.
    fn preamble(&self) -> String {
        let only_reads = match self.access_mode {
            AccessMode::ReadOnly => "; set transaction read only",
            AccessMode::ReadWrite => "",
        };
        let settings =
            TRANSACTION_SETTINGS.map(|(name, value)| format!("; set local {name} = '{value}'"));
        format!("{only_reads}{}", settings.concat())
    }

    /// Begins a transaction of the system scope in one round trip, whatever settings the connection keeps.
    pub(super) async fn begin(
        &mut self,
        step: &'static str,
    ) -> Result<sqlx::Transaction<'_, sqlx::Postgres>, OpenError> {
        // Safe: the text consists of constants.
        let text = format!(
            "begin{}; set local matins.scope = 'system'",
            self.preamble()
        );
        let connection = self.connection().await?;
        let transaction = connection.begin_with(AssertSqlSafe(text)).await;
        transaction.map_err(|error| match sqlstate(&error).as_deref() {
            Some(PROTOCOL_VIOLATION) => OpenError::NoTransactionSupport { source: error },
            _ => step_error(step)(error),
        })
    }

    /// Returns `true` if each connection is a session of its own.
    ///
    /// Sessions are shared if one server process serves two connections, if another process serves a connection's
    /// next statement, or if none does while another connection holds a transaction open.
    ///
    /// # Errors
    ///
    /// [`OpenError::NoTransactionSupport`] if a pooler ends transactions after each statement.
    pub(super) async fn keeps_sessions(&mut self) -> Result<bool, OpenError> {
        let step = "identify the server process";
        let options = self.options.clone();
        let mine = query_backend(self.connection().await?, BACKEND_QUERY).await;
        let (mine, _) = mine.map_err(step_error(step))?;
        let mut other = PgConnection::connect_with(&options)
            .await
            .map_err(step_error("connect"))?;
        // Repeat the comparison, because a pooler may by chance lend the same process to a connection twice.
        let mut keeps_sessions = true;
        for round in 0..COMPARISON_ROUNDS {
            if round > 0 {
                // Send it alone: a pooler takes its server process back between two texts, not within one.
                let ended = timeout(LEND_TIMEOUT, other.execute("rollback")).await;
                keeps_sessions = ended.is_ok_and(|ended| ended.is_ok());
                if !keeps_sessions {
                    break;
                }
            }
            let begin = "begin; select pg_backend_pid() as pid, true as has_settings";
            match timeout(LEND_TIMEOUT, query_backend(&mut other, begin)).await {
                Ok(Ok((pid, _))) if pid != mine => {}
                // Either one process serves both connections, or the pooler has only one process to lend. How it
                // lends that process is unclear then, so assume the worse.
                Ok(Ok(_)) | Err(_) => keeps_sessions = false,
                Ok(Err(source)) if sqlstate(&source).as_deref() == Some(PROTOCOL_VIOLATION) => {
                    return Err(OpenError::NoTransactionSupport { source });
                }
                Ok(Err(error)) => return Err(step_error(step)(error)),
            }
            if !keeps_sessions {
                break;
            }
            let again = timeout(
                LEND_TIMEOUT,
                query_backend(self.connection().await?, BACKEND_QUERY),
            )
            .await;
            match again {
                Ok(Ok((pid, _))) if pid == mine => {}
                Ok(Ok(_)) => keeps_sessions = false,
                Ok(Err(error)) => return Err(step_error(step)(error)),
                Err(_) => {
                    // The connection waits for the server process that `other` holds.
                    self.connection = None;
                    keeps_sessions = false;
                }
            }
            if !keeps_sessions {
                break;
            }
        }
        // Dropping the connection ends its transaction. Do not wait for that, because the connection itself may be
        // waiting for a server process.
        drop(other);
        Ok(keeps_sessions)
    }

    /// Returns the properties of connections to this server, with the direct connection if there is one.
    pub(super) fn connection_properties(
        &self,
        keeps_sessions: bool,
        direct: Option<&Self>,
    ) -> ConnectionProperties {
        let pooled_address = keeps_sessions.then(|| self.options.clone());
        ConnectionProperties {
            pooling_mode: if keeps_sessions {
                PoolingMode::Session
            } else {
                PoolingMode::Transaction {
                    has_direct_address: direct.is_some(),
                }
            },
            preamble: if keeps_sessions && self.accepted_settings {
                String::new()
            } else {
                self.preamble()
            },
            listen_address: direct
                .map(|direct| direct.options.clone())
                .or(pooled_address),
        }
    }

    /// Returns `true` if both lead to one database of one running server: each sees the locks that the other takes.
    pub(super) async fn is_same_database(&mut self, other: &mut Self) -> Result<bool, OpenError> {
        let step = "compare the database with the one at its direct address";
        let mut transaction = self.begin(step).await?;
        // Use the backend's start time as the key: no other process of this server has it, nor by chance one of
        // another server.
        let row = sqlx::query(
            "select pid, key, cast(pg_advisory_xact_lock_shared(key) as text) as locked from ( \
               select pid, cast(extract(epoch from backend_start) * 1000000 as bigint) as key \
               from pg_stat_activity where pid = pg_backend_pid() offset 0) mine",
        )
        .persistent(false)
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error(step))?;
        let pid: i32 = row.try_get("pid").map_err(step_error(step))?;
        let key: i64 = row.try_get("key").map_err(step_error(step))?;
        let mut other_transaction = other.begin(step).await?;
        let seen: bool = sqlx::query_scalar(
            "select exists (select 1 from pg_locks where locktype = 'advisory' and pid = $1 \
             and (cast(classid as bigint) << 32) | cast(objid as bigint) = $2 and objsubid = 1 \
             and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind(pid)
        .bind(key)
        .persistent(false)
        .fetch_one(&mut *other_transaction)
        .await
        .map_err(step_error(step))?;
        let ended = other_transaction.rollback().await;
        ended.map_err(step_error(step))?;
        transaction.rollback().await.map_err(step_error(step))?;
        Ok(seen)
    }
}

/// Returns a function that adds the name of the failed step to a driver's error.
pub(super) fn step_error(step: &'static str) -> impl FnOnce(sqlx::Error) -> OpenError {
    move |error| Error::of_postgres(step, error).into()
}
