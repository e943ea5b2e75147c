//! Reaching a PostgreSQL server: by itself, or through a pooler that may lend its connections out for one
//! transaction each.
//!
//! **Invariants:** what keeps no sessions is found out by what it does, not by its name, and where that
//! cannot be seen it is served as if it kept none, which works everywhere. Nothing here depends on a
//! session: each look is one text, or inside a transaction that sets what it needs.

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::PgConnectOptions,
};
use tokio::time::timeout;

use super::error::OpenError;
use crate::{
    error::Error,
    limits::PREPARED_STATEMENTS,
    link::{Link, Sessions},
};

/// What holds in every transaction: set once for a connection, and where connections keep nothing at each
/// transaction's beginning.
const SETTINGS: [(&str, &str); 5] = [
    ("search_path", "automation"),
    // Statements are short. To compile one, because its rows are guessed too high, takes a hundred times as long
    // as to run it.
    ("jit", "off"),
    // A transaction never waits for anything but the database.
    ("idle_in_transaction_session_timeout", "15s"),
    // Nor does a statement wait for ever: a loop that hangs fires nothing.
    ("lock_timeout", "30s"),
    ("statement_timeout", "60s"),
];
/// Which server process serves, and whether what was set for the connection holds there.
const BACKEND: &str = "select pg_backend_pid() as pid, \
     current_setting('search_path') = 'automation' and current_setting('lock_timeout') = '30s' as told";
/// How often two connections are compared. A pooler that has many servers to lend may give one
/// connection the same one again by chance.
const ROUNDS: usize = 3;
/// How long a connection may wait for a server to be lent, before it is clear that it has none.
const LENDING: Duration = Duration::from_secs(2);

/// With which SQLSTATE a pooler refuses what the server itself would take.
const NOT_THE_PROTOCOL: &str = "08P01";

/// Whether a database is opened to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Use,
    Read,
}

/// A server that was reached.
pub(super) struct Reached {
    /// A connection; `None` where looking at the sessions has cost it.
    connection: Option<PgConnection>,
    /// What further connections are made with.
    pub(super) options: PgConnectOptions,
    purpose: Purpose,
    /// Whether the server took what connections are told at their start.
    told: bool,
}

/// Connects. Poolers may refuse what a connection is told at its start: then it is told nothing.
pub(super) async fn reach(
    options: &PgConnectOptions,
    purpose: Purpose,
) -> Result<Reached, OpenError> {
    let plain = options.clone().application_name("matins");
    let mut telling = plain
        .clone()
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .options(SETTINGS);
    if purpose == Purpose::Read {
        telling = telling.options([("default_transaction_read_only", "on")]);
    }
    let (mut connection, options) = match PgConnection::connect_with(&telling).await {
        Ok(connection) => (connection, telling),
        Err(error) if may_be_what_it_was_told(&error) => {
            let plain = plain.extra_float_digits(None);
            let connection = PgConnection::connect_with(&plain).await;
            (connection.map_err(failed("connect"))?, plain)
        }
        Err(error) => return Err(failed("connect")(error)),
    };
    let told = backend(&mut connection, BACKEND).await;
    let (_, told) = told.map_err(failed("ask who serves this connection"))?;
    Ok(Reached {
        connection: Some(connection),
        options,
        purpose,
        told,
    })
}

/// Whether a connection was refused for what it was told: not for who it is, where it goes, or when.
fn may_be_what_it_was_told(error: &sqlx::Error) -> bool {
    let Some(code) = code(error) else {
        return false;
    };
    // Sign-in; no such database; too many connections; starting or stopping.
    !["28", "3D", "53", "57"]
        .iter()
        .any(|class| code.starts_with(class))
}

/// The SQLSTATE of what a server or a pooler has refused.
fn code(error: &sqlx::Error) -> Option<String> {
    let refused = error.as_database_error()?;
    Some(refused.code().unwrap_or_default().into_owned())
}

/// Asks which server process serves a connection, in one text that is not prepared.
async fn backend(
    connection: &mut PgConnection,
    text: &'static str,
) -> Result<(i32, bool), sqlx::Error> {
    let row = connection.fetch_one(sqlx::raw_sql(text)).await?;
    Ok((row.try_get("pid")?, row.try_get("told")?))
}

impl Reached {
    /// The connection, made anew where there is none any more.
    pub(super) async fn connection(&mut self) -> Result<&mut PgConnection, OpenError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => PgConnection::connect_with(&self.options)
                .await
                .map_err(failed("connect"))?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Closes the connection.
    pub(super) async fn close(self) -> Result<(), OpenError> {
        match self.connection {
            Some(connection) => connection.close().await.map_err(failed("disconnect")),
            None => Ok(()),
        }
    }

    /// What follows `begin` where connections keep nothing.
    fn preamble(&self) -> String {
        let only_reads = match self.purpose {
            Purpose::Read => "; set transaction read only",
            Purpose::Use => "",
        };
        let settings = SETTINGS.map(|(name, value)| format!("; set local {name} = '{value}'"));
        format!("{only_reads}{}", settings.concat())
    }

    /// Begins a transaction of the whole system, in one round trip, whatever the connection keeps.
    pub(super) async fn begin(
        &mut self,
        doing: &'static str,
    ) -> Result<sqlx::Transaction<'_, sqlx::Postgres>, OpenError> {
        // Safe: made of constants.
        let text = format!(
            "begin{}; set local matins.scope = 'system'",
            self.preamble()
        );
        let connection = self.connection().await?;
        let begun = connection.begin_with(AssertSqlSafe(text)).await;
        begun.map_err(|error| match code(&error).as_deref() {
            Some(NOT_THE_PROTOCOL) => OpenError::NoTransactions { source: error },
            _ => failed(doing)(error),
        })
    }

    /// Finds out whether each connection is a session of its own.
    ///
    /// Two connections that are served by one server process are not, nor is one that another process
    /// serves at its next statement, or none at all while another holds a transaction open. A pooler that
    /// ends transactions after each statement is refused.
    pub(super) async fn sessions_are_kept(&mut self) -> Result<bool, OpenError> {
        let asking = "ask who serves this connection";
        let options = self.options.clone();
        let mine = backend(self.connection().await?, BACKEND).await;
        let (mine, _) = mine.map_err(failed(asking))?;
        let mut other = PgConnection::connect_with(&options)
            .await
            .map_err(failed("connect"))?;
        let mut kept = true;
        for round in 0..ROUNDS {
            if round > 0 {
                // By itself: a pooler takes its server back between two texts, not within one.
                let ended = timeout(LENDING, other.execute("rollback")).await;
                kept = ended.is_ok_and(|ended| ended.is_ok());
                if !kept {
                    break;
                }
            }
            let begin = "begin; select pg_backend_pid() as pid, true as told";
            match timeout(LENDING, backend(&mut other, begin)).await {
                Ok(Ok((pid, _))) if pid != mine => {}
                // One process for both; or there is but one to lend, and nobody knows how it is lent.
                Ok(Ok(_)) | Err(_) => kept = false,
                Ok(Err(source)) if code(&source).as_deref() == Some(NOT_THE_PROTOCOL) => {
                    return Err(OpenError::NoTransactions { source });
                }
                Ok(Err(error)) => return Err(failed(asking)(error)),
            }
            if !kept {
                break;
            }
            let again = timeout(LENDING, backend(self.connection().await?, BACKEND)).await;
            match again {
                Ok(Ok((pid, _))) if pid == mine => {}
                Ok(Ok(_)) => kept = false,
                Ok(Err(error)) => return Err(failed(asking)(error)),
                Err(_) => {
                    // It waits for the server that the other holds.
                    self.connection = None;
                    kept = false;
                }
            }
            if !kept {
                break;
            }
        }
        // With it its transaction ends. It may be waiting itself, so nobody waits for it.
        drop(other);
        Ok(kept)
    }

    /// How the database is served that was reached so.
    pub(super) fn link(&self, kept: bool, direct: Option<&Self>) -> Link {
        let own = kept.then(|| self.options.clone());
        Link {
            sessions: if kept {
                Sessions::Kept
            } else {
                Sessions::NotKept {
                    direct: direct.is_some(),
                }
            },
            preamble: if kept && self.told {
                String::new()
            } else {
                self.preamble()
            },
            listener: direct.map(|direct| direct.options.clone()).or(own),
        }
    }

    /// Whether both lead to one database of one running server: a lock that one takes is seen by the other.
    pub(super) async fn is_where(&mut self, other: &mut Self) -> Result<bool, OpenError> {
        let doing = "compare the database with the direct one";
        let mut here = self.begin(doing).await?;
        // A key that no other process of this server has, nor one of another server by chance.
        let row = sqlx::query(
            "select pid, key, cast(pg_advisory_xact_lock_shared(key) as text) as locked from ( \
               select pid, cast(extract(epoch from backend_start) * 1000000 as bigint) as key \
               from pg_stat_activity where pid = pg_backend_pid() offset 0) mine",
        )
        .persistent(false)
        .fetch_one(&mut *here)
        .await
        .map_err(failed(doing))?;
        let pid: i32 = row.try_get("pid").map_err(failed(doing))?;
        let key: i64 = row.try_get("key").map_err(failed(doing))?;
        let mut there = other.begin(doing).await?;
        let seen: bool = sqlx::query_scalar(
            "select exists (select 1 from pg_locks where locktype = 'advisory' and pid = $1 \
             and (cast(classid as bigint) << 32) | cast(objid as bigint) = $2 and objsubid = 1 \
             and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind(pid)
        .bind(key)
        .persistent(false)
        .fetch_one(&mut *there)
        .await
        .map_err(failed(doing))?;
        there.rollback().await.map_err(failed(doing))?;
        here.rollback().await.map_err(failed(doing))?;
        Ok(seen)
    }
}

/// Names what was being done when a driver's call failed.
pub(super) fn failed(doing: &'static str) -> impl FnOnce(sqlx::Error) -> OpenError {
    move |error| Error::of_postgres(doing, error).into()
}
