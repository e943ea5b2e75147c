//! Edits of tasks.

use api_types::TaskPatch;
use model::goal::{PlanError, Refusal, TaskFields};
use store::GoalChange;

use super::view::TaskToEdit;
use crate::{Error, Service, boxed, naming};

impl Service {
    /// Changes the title, the description, the acceptance lines and the priority of a task that has not begun or has failed.
    /// Returns the task afterwards.
    ///
    /// # Errors
    ///
    /// Returns an error that names the field if a value is invalid, a refusal with the status if the task or its goal does not
    /// accept the edit, and a conflict if the plan has changed since `before` was read.
    #[boxed]
    pub async fn edit_task(
        &self,
        before: &TaskToEdit,
        patch: &TaskPatch,
    ) -> Result<TaskToEdit, Error> {
        validate_texts(patch)?;
        let seen = &before.task;
        let content = TaskFields {
            title: seen.task.title.clone(),
            description: seen.description.clone(),
            acceptance: seen.acceptance.clone(),
            priority: seen.task.priority,
        };
        let change = GoalChange::EditTask {
            key: seen.task.key.clone(),
            version: before.plan_version,
            after: with_patch(content.clone(), patch.clone()),
            before: content,
        };
        let (goal, now) = (seen.task.goal_id, self.now());
        let changed = self.store.change_goal(self.tenant, goal, &change, now);
        changed.await.map_err(with_field)?;
        self.task_to_edit(&seen.task.id.to_string()).await
    }
}

/// Refuses empty texts, as for new tasks of a planner.
fn validate_texts(patch: &TaskPatch) -> Result<(), Error> {
    if let Some(title) = &patch.title {
        naming::validate_content("title", title)?;
    }
    if let Some(description) = &patch.description {
        naming::validate_content("description", description)?;
    }
    for line in patch.acceptance.iter().flatten() {
        naming::validate_content("acceptance", line)?;
    }
    Ok(())
}

/// Returns the content of a task after a patch.
fn with_patch(content: TaskFields, patch: TaskPatch) -> TaskFields {
    TaskFields {
        title: patch.title.unwrap_or(content.title),
        description: patch.description.unwrap_or(content.description),
        acceptance: patch.acceptance.unwrap_or(content.acceptance),
        priority: patch.priority.unwrap_or(content.priority),
    }
}

/// Returns the error of an edit, with the field of its first fault.
fn with_field(error: store::Error) -> Error {
    let field = match &error {
        store::Error::Goal(Refusal::Plan(faults)) => faults.first().and_then(PlanError::field),
        _ => None,
    };
    let error = Error::from(error);
    match field {
        Some(field) => error.at_field(field),
        None => error,
    }
}
