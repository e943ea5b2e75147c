//! Noting what a transaction changes.

use uuid::Uuid;

use crate::database::{Dialect, Error, Tx};

/// Notes that a transaction changes the log of a session or of an automation, or the text of a session's turn: its
/// readers are woken after the commit. On SQLite the transaction takes its number, once; on PostgreSQL it has one.
pub(crate) async fn note_change(tx: &mut Tx, log: Uuid) -> Result<(), Error> {
    if tx.note_change(log) && tx.dialect() == Dialect::Sqlite {
        tx.execute(sql_of_sqlite!("transactions/next"), params![])
            .await?;
    }
    Ok(())
}
