//! Records the changes that a transaction makes, for change notification.

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
