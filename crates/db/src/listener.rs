//! Listening for notifications of a PostgreSQL server.

use std::{str::FromStr, time::Duration};

use sqlx::{
    AssertSqlSafe,
    postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions},
};

use crate::{error::Error, limits::ACQUIRE_TIMEOUT};

/// The name of this file's work in errors.
const OPERATION_NAME: &str = "listen";

/// The address at which notifications are listened for.
#[derive(Debug, Clone)]
pub struct ListenAddress(pub(crate) PgConnectOptions);

impl FromStr for ListenAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(Self).map_err(listen_error)
    }
}

/// A connection that listens to channels. It belongs to no pool, so closing a pool does not wait for it.
#[derive(Debug)]
pub struct Listener {
    connection: PgListener,
    reply_timeout: Duration,
}

/// A notification of the server.
#[derive(Debug)]
pub struct Notification(PgNotification);

impl Notification {
    /// Returns the name of the notification's channel.
    pub fn channel(&self) -> &str {
        self.0.channel()
    }

    /// Returns the notification's payload.
    pub fn payload(&self) -> &str {
        self.0.payload()
    }
}

impl Listener {
    /// Connects to the server and waits at most `reply_timeout` for each later reply. The connection does not
    /// reconnect by itself, because notifications that are sent in between would be lost without notice.
    pub async fn connect(address: &ListenAddress, reply_timeout: Duration) -> Result<Self, Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(address.0.clone());
        let mut connection = PgListener::connect_with(&pool)
            .await
            .map_err(listen_error)?;
        connection.eager_reconnect(false);
        Ok(Self {
            connection,
            reply_timeout,
        })
    }

    /// Listens to a channel.
    pub async fn listen(&mut self, channel: &str) -> Result<(), Error> {
        with_timeout(self.reply_timeout, self.connection.listen(channel)).await
    }

    /// Starts to listen to some channels and stops to listen to others, in one round trip.
    ///
    /// The caller must pass names that are SQL identifiers, because they become part of a statement.
    pub async fn update_channels(
        &mut self,
        listen: impl IntoIterator<Item = String>,
        unlisten: impl IntoIterator<Item = String>,
    ) -> Result<(), Error> {
        let listen = listen
            .into_iter()
            .map(|channel| format!("listen {channel}"));
        let unlisten = unlisten.into_iter();
        let unlisten = unlisten.map(|channel| format!("unlisten {channel}"));
        let statements: Vec<String> = listen.chain(unlisten).collect();
        if statements.is_empty() {
            return Ok(());
        }
        let text = AssertSqlSafe(statements.join("; "));
        let update = sqlx::raw_sql(text).execute(&mut self.connection);
        with_timeout(self.reply_timeout, update).await.map(drop)
    }

    /// Runs an empty query, so that a connection whose server has vanished is detected.
    pub async fn ping(&mut self) -> Result<(), Error> {
        let reply = sqlx::query("select 1").execute(&mut self.connection);
        with_timeout(self.reply_timeout, reply).await.map(drop)
    }

    /// Waits for the next notification. Returns `None` if the connection is lost. The future may be dropped without
    /// losing a notification.
    pub async fn next(&mut self) -> Result<Option<Notification>, Error> {
        let next = self.connection.try_recv().await.map_err(listen_error)?;
        Ok(next.map(Notification))
    }
}

/// Waits for a reply of the server for at most `reply_timeout`. The caller must drop the connection after a timeout,
/// because its server may have vanished.
async fn with_timeout<T>(
    reply_timeout: Duration,
    reply: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(reply_timeout, reply).await {
        Ok(result) => result.map_err(listen_error),
        Err(_) => Err(listen_error(sqlx::Error::PoolTimedOut)),
    }
}

fn listen_error(error: sqlx::Error) -> Error {
    Error::of_postgres(OPERATION_NAME, error)
}
