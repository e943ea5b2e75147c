//! The titles of sessions, of which the log of a session has each change.

use model::{SessionId, Timestamp, event::SessionChange, session::SessionStatus};

use crate::{Error, Scope, database::Tx, session_log};

/// Gives a session the title `to` in place of `from`. Returns `false`, and changes nothing, if it has another title or does
/// not exist in `scope`.
pub(crate) async fn rename_session(
    tx: &mut Tx,
    scope: Scope,
    id: SessionId,
    [from, to]: [Option<&str>; 2],
    now: Timestamp,
) -> Result<bool, Error> {
    // Optimistic locking: the statement compares with `from`, so that the second of two concurrent edits fails.
    let params = params![scope.tenant(), id, from, to, now];
    let Some(edited) = tx.fetch_optional(sql!("sessions/edit"), params).await? else {
        return Ok(false);
    };
    // Omit the event of an edit that changes nothing.
    if from != to {
        let state: SessionStatus = edited.parse("state")?;
        let title = to.map(str::to_owned);
        let change = SessionChange::Renamed { state, title };
        session_log::write_session_change(tx, id, change, now).await?;
    }
    Ok(true)
}
