//! Conversion of the columns about the task of a run.

use model::entity::RunTask;

use crate::{Error, database::Row};

/// Returns the task of a run. A prompt of a later version is left out, so that the run can still end.
pub(super) fn run_task(row: &Row) -> Result<Option<RunTask>, Error> {
    let Some(id) = row.optional("task_id")? else {
        return Ok(None);
    };
    let prompt: Option<String> = row.optional("task_prompt")?;
    Ok(Some(RunTask {
        id,
        prompt: prompt.and_then(|prompt| prompt.parse().ok()),
        is_review: row.get("task_review")?,
    }))
}
