//! Staged tasks: the plan that a planner makes in its turn.

use model::{
    SessionId, TenantId, Timestamp,
    goal::{NewTask, Plan},
};

use crate::{
    Error,
    database::Tx,
    stored::{self, DOCUMENT_FORMAT, goals::StoredNewTask},
};

const CREATE: &str = "create";
const CANCEL: &str = "cancel";

/// Reads the plan that is staged, in the order in which its tasks were staged first.
pub(crate) async fn read_staged(tx: &mut Tx, session: SessionId) -> Result<Plan, Error> {
    let rows = tx
        .fetch_all(sql!("staged_tasks/of_session"), params![session])
        .await?;
    let mut plan = Plan::default();
    for row in &rows {
        let key: String = row.get("key")?;
        let needed = stored::needs_format(row)?;
        stored::require_supported("staged task", &key, needed)?;
        match row.get::<String>("kind")?.as_str() {
            CANCEL => plan.drops.push(key),
            _ => plan.tasks.push(stored::read::<StoredNewTask>(row, "task")?),
        }
    }
    Ok(plan)
}

/// Stages a new task, or the cancellation of the task with its key if `is_new` is `false`. Replaces the staged task of that
/// key.
pub(crate) async fn stage(
    tx: &mut Tx,
    (tenant, session): (TenantId, SessionId),
    task: &NewTask,
    is_new: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let document = stored::write::<StoredNewTask>(task);
    let kind = if is_new { CREATE } else { CANCEL };
    tx.execute(
        sql!("staged_tasks/put"),
        params! { "staged_tasks/put";
            session: session,
            key: task.key.as_str(),
            tenant: tenant,
            kind: kind,
            task: document.value,
            format: DOCUMENT_FORMAT,
            needs_format: document.needs_format,
            now: now,
        },
    )
    .await?;
    Ok(())
}
