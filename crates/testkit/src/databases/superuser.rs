//! The connection by which a test process creates and drops its databases.

use std::{sync::mpsc, thread};

use anyhow::{Context as _, anyhow};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::runtime;

/// A statement to execute, and the sender for its result.
type Command = (String, mpsc::Sender<anyhow::Result<()>>);

/// One connection of the superuser, kept until the process ends. It connects before its first statement.
///
/// A thread of its own has the connection, so that `Drop` of a database can use it inside and outside of a runtime.
#[derive(Debug)]
pub(super) struct SuperuserConnection(mpsc::Sender<Command>);

impl SuperuserConnection {
    pub(super) fn new(url: String) -> anyhow::Result<Self> {
        let (sender, commands) = mpsc::channel();
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start a runtime")?;
        thread::Builder::new()
            .name("test-databases".to_owned())
            .spawn(move || runtime.block_on(serve(&url, &commands)))
            .context("cannot start a thread")?;
        Ok(Self(sender))
    }

    /// Executes one statement outside of a transaction.
    pub(super) fn execute(&self, sql: String) -> anyhow::Result<()> {
        let (sender, result) = mpsc::channel();
        let ended = || anyhow!("the thread of the connection has ended");
        self.0.send((sql, sender)).map_err(|_| ended())?;
        result.recv().map_err(|_| ended())?
    }
}

async fn serve(url: &str, commands: &mpsc::Receiver<Command>) {
    let mut kept = None;
    while let Ok((sql, result)) = commands.recv() {
        // The caller may have stopped waiting. The statement was executed all the same.
        let _ = result.send(execute(url, &mut kept, sql).await);
    }
}

async fn execute(url: &str, kept: &mut Option<PgConnection>, sql: String) -> anyhow::Result<()> {
    let connection = match kept {
        Some(connection) => connection,
        None => kept.insert(
            PgConnection::connect(url)
                .await
                .context("cannot connect to the test server")?,
        ),
    };
    let executed = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
        .execute(connection)
        .await;
    if executed.is_err() {
        // The connection may be broken, so the next statement uses a new one.
        *kept = None;
    }
    executed.with_context(|| format!("the test server refuses `{sql}`"))?;
    Ok(())
}
