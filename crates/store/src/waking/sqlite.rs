//! What other processes change in a SQLite file.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::wakes::Wakes;
use crate::{
    Scope,
    database::{Database, Error},
};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Wakes everybody when there are more numbered transactions than this process has made. SQLite's own
/// `data_version` would tell of this process's as well.
pub(super) async fn watch(wakes: &Wakes, database: &Database) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = None;
    loop {
        look.tick().await;
        match last(database).await {
            Ok(last) => {
                let foreign = last - wakes.own();
                // Own ones are counted before they can be seen, so a lower number says only that one
                // is under way.
                match known {
                    Some(known) if foreign <= known => continue,
                    // At first for what changed before there was anything to compare with.
                    _ => wakes.wake_all(),
                }
                known = Some(foreign);
            }
            Err(error) => tracing::debug!(%error, "failed to look for changes of the file"),
        }
    }
}

async fn last(database: &Database) -> Result<i64, Error> {
    let mut tx = database.read(Scope::System).await?;
    let row = tx
        .fetch_one(sql_of_sqlite!("transactions/last"), params![])
        .await?;
    row.get("last")
}
