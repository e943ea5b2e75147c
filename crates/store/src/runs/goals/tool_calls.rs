//! The tool calls behind a result.

use model::{TaskId, permission::is_title_of_own_tool};

use crate::{Error, database::Tx};

/// The number of characters of a title by which a call of a tool of Matins is known.
const TITLE_CHARS: u32 = 100;

/// Counts the tool calls of the last round of work on a task, without those of the tools of Matins: an agent that has invented its
/// result reads its messages and reports by them, too.
pub(super) async fn read_tool_calls(tx: &mut Tx, task: TaskId) -> Result<u32, Error> {
    let rows = tx
        .fetch_all(sql!("tasks/tool_calls"), params![task, TITLE_CHARS])
        .await?;
    let mut counted: i64 = 0;
    for row in &rows {
        let title: String = row.get("beginning")?;
        if !is_title_of_own_tool(&title) {
            counted += row.get::<i64>("calls")?;
        }
    }
    Ok(u32::try_from(counted).unwrap_or(u32::MAX))
}
