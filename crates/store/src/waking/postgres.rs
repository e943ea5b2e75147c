//! What other processes change, as PostgreSQL tells it.

use std::time::Duration;

use sqlx::{
    PgPool,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::{MissedTickBehavior, timeout};
use uuid::Uuid;

use super::Wakes;
use crate::database::{Error, PATIENCE};

/// The channel of all changes: a notification's payload is the id of a log, or names what there is to do.
const CHANNEL: &str = "matins_wake";
/// How often the listening connection is asked for a sign of life. One of which only this end is left
/// would be silent for ever.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long it may take to give one.
const ANSWER: Duration = Duration::from_secs(5);
/// The pause before another connection is tried.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens until the pool is closed, with one connection after the other.
pub(super) async fn watch(wakes: &Wakes, pool: &PgPool) {
    let listening = async {
        loop {
            if let Err(error) = listen(wakes, pool).await {
                let error = Error::of_postgres("listen", error);
                tracing::debug!(%error, "lost the connection that listens for changes");
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    // An error says that the pool is closed.
    let _: Result<(), sqlx::Error> = pool.close_event().do_until(listening).await;
}

/// Listens until the connection is lost. It is none of the pool's: a listener is no transaction's to wait
/// for, and one that hangs must not hold up the pool's end.
async fn listen(wakes: &Wakes, pool: &PgPool) -> Result<(), sqlx::Error> {
    let own = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with((*pool.connect_options()).clone());
    let mut listener = PgListener::connect_with(&own).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    // What changed before it listened.
    wakes.wake_all();
    wakes.workers.call_for_everything();
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat.tick().await;
    loop {
        tokio::select! {
            notification = listener.try_recv() => match notification? {
                // Whoever sends another payload has nothing to do with this.
                Some(notification) => {
                    let payload = notification.payload();
                    if let Ok(log) = Uuid::try_parse(payload) {
                        wakes.wake(&[log]);
                    } else {
                        wakes.workers.call(payload);
                    }
                }
                None => return Ok(()),
            },
            _ = heartbeat.tick() => {
                let alive = sqlx::query("select 1").execute(&mut listener);
                match timeout(ANSWER, alive).await {
                    Ok(answer) => answer?,
                    Err(_) => return Err(sqlx::Error::PoolTimedOut),
                };
            }
        }
    }
}
