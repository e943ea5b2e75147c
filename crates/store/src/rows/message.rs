//! Conversion of the rows of transcripts.

use model::{entity::Message, transcript};
use serde_json::Value;

use crate::{Error, database::Row};

/// Returns a row of the transcript.
pub(crate) fn message(row: &Row) -> Result<Message, Error> {
    Ok(Message {
        id: row.get("id")?,
        seq: row.get("seq")?,
        run_id: row.optional("run_id")?,
        seat_id: row.optional("from_seat_id")?,
        role: row.parse("role")?,
        kind: row.parse("kind")?,
        content: row.get("content")?,
        metadata: with_task(row, row.json("metadata")?)?,
        created_at: row.get("created_at")?,
    })
}

/// Returns the transcript row that an event announces. Returns `None` if it announces none.
pub(crate) fn announced_message(row: &Row) -> Result<Option<Message>, Error> {
    let Some(id) = row.optional("message_id")? else {
        return Ok(None);
    };
    let role: String = row.get("message_role")?;
    let kind: String = row.get("message_kind")?;
    // A later version may write other roles and kinds. Its event is unknown to this version; an error here would make
    // the rest of the log unreadable.
    let (Ok(role), Ok(kind)) = (role.parse(), kind.parse()) else {
        return Ok(None);
    };
    Ok(Some(Message {
        id,
        seq: row.get("message_seq")?,
        run_id: row.optional("message_run_id")?,
        seat_id: row.optional("message_seat_id")?,
        role,
        kind,
        content: row.get("message_content")?,
        metadata: with_task(row, row.json("message_metadata")?)?,
        created_at: row.get("message_created_at")?,
    }))
}

/// Returns the metadata of a row. Adds the seat and the task if the row is the prompt of a goal's task.
fn with_task(row: &Row, metadata: Value) -> Result<Value, Error> {
    let key: Option<String> = row.optional("task_key")?;
    let seat: Option<String> = row.optional("task_seat")?;
    Ok(match (seat, key) {
        (Some(seat), Some(key)) => transcript::with_task(metadata, &seat, &key),
        _ => metadata,
    })
}
