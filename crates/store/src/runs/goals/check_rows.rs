//! The last checks of a task, as people see them.

use model::TaskId;

use crate::{
    Error, Scope,
    database::{Row, Tx},
};

/// The last checks of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChecks {
    /// The status: `waiting`, `running`, `passed`, `failed`, `broken` or `cancelled`.
    pub status: String,
    /// The number of claims.
    pub attempt: i64,
    /// The name, the end and the last lines of each check that ran.
    pub evidence: Vec<String>,
}

/// Reads the last checks of a task. Returns `None` if it had none, or belongs to another tenant.
pub(super) async fn read_checks(
    tx: &mut Tx,
    scope: Scope,
    task: TaskId,
) -> Result<Option<TaskChecks>, Error> {
    let row = tx
        .fetch_optional(sql!("task_checks/by_task"), params![scope.tenant(), task])
        .await?;
    let read = |row: Row| {
        Ok(TaskChecks {
            status: row.get("status")?,
            attempt: row.get("attempt")?,
            evidence: row.json("evidence")?,
        })
    };
    row.map(read).transpose()
}
