//! Records the changes that a transaction makes, for change notification.

use model::TenantId;
use uuid::Uuid;

use crate::database::{Dialect, Error, Tx};

/// Records that a transaction changes the log of a session or of an automation, or the text of a session's turn.
/// Readers of the log are woken after the commit. On SQLite, the first call gives the transaction a number, from
/// which other processes notice the change. PostgreSQL numbers transactions itself.
pub(crate) async fn note_change(tx: &mut Tx, log: Uuid) -> Result<(), Error> {
    if tx.note_change(log) && tx.dialect() == Dialect::Sqlite {
        tx.execute(sql_of_sqlite!("transactions/next"), params![])
            .await?;
    }
    Ok(())
}

/// Records that a transaction gives the schedulers work that no log shows, such as runs that a higher budget releases.
/// The schedulers of other processes are woken after the commit.
pub(crate) async fn note_scheduler_work(tx: &mut Tx, tenant: TenantId) -> Result<(), Error> {
    match tx.dialect() {
        Dialect::Postgres => {
            tx.execute(sql_of_postgres!("work/notify_schedulers"), params![])
                .await?;
            Ok(())
        }
        // The number of the transaction is what wakes them, so any ID will do.
        Dialect::Sqlite => note_change(tx, tenant.uuid()).await,
    }
}
