//! Notices the changes of other processes in a SQLite file, by polling.

use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::notifier::ChangeNotifier;
use crate::{
    Scope,
    database::{Database, Error},
};

/// The interval of the polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Wakes all tasks and workers if the file has more numbered transactions than this process has made. SQLite's
/// `data_version` cannot be used, because it also counts the commits of other connections of this process.
pub(super) async fn watch(notifier: &ChangeNotifier, database: &Database) {
    let mut interval = tokio::time::interval(POLL_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = None;
    loop {
        interval.tick().await;
        match last_transaction(database).await {
            Ok(last) => {
                let foreign = last - notifier.local_transactions();
                // This process counts its own transactions before they are visible, so a lower number only means that
                // one of them is in progress.
                match seen {
                    Some(seen) if foreign <= seen => continue,
                    Some(_) => notifier.workers.signal_all_but_cancel(),
                    // The first poll wakes everything, because there is no earlier number to compare with.
                    None => notifier.workers.signal_all(),
                }
                notifier.wake_all();
                seen = Some(foreign);
            }
            Err(error) => tracing::debug!(%error, "cannot poll the database file for changes"),
        }
    }
}

async fn last_transaction(database: &Database) -> Result<i64, Error> {
    let mut tx = database.begin_read(Scope::System).await?;
    let row = tx
        .fetch_one(sql_of_sqlite!("transactions/last"), params![])
        .await?;
    row.get("last")
}
