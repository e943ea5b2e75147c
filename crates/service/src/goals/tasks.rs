//! Tasks of goals: listing and reading them, and the changes of people.

use api_types::{PlanRequest, Task, TaskList, TaskMove};
use model::{
    TaskId,
    goal::{Plan, PlanError, Refusal},
};
use store::GoalChange;

use super::{
    named,
    view::{self, TaskToEdit},
};
use crate::{Error, Service, boxed};

impl Service {
    /// Lists the tasks of a goal.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such goal.
    #[boxed]
    pub async fn tasks(&self, given: &str) -> Result<TaskList, Error> {
        let session = self.find_goal(given).await?.id;
        let goal = self.store.goal(self.scope(), session).await;
        let goal = goal.map_err(|error| named(error, given))?;
        let rounds = goal.limits.rounds;
        let tasks = goal.tasks.into_iter();
        Ok(TaskList {
            plan_version: goal.plan_version,
            tasks: tasks
                .map(|task| view::task(session, rounds, task))
                .collect(),
        })
    }

    /// Returns one task by its ID, in order to show or to change it.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such task.
    #[boxed]
    pub async fn task_to_edit(&self, given: &str) -> Result<TaskToEdit, Error> {
        let id = task_id(given)?;
        let found = self.store.task_details(self.scope(), id).await?;
        Ok(TaskToEdit {
            plan_version: found.plan_version,
            task: view::task_details(found),
        })
    }

    /// Adds, replaces or drops tasks for a person, who must have read the present version of the plan.
    ///
    /// # Errors
    ///
    /// Returns a refusal if the version is another one, or if the plan names tasks that are over, and an error that names the
    /// field if the plan has mistakes.
    #[boxed]
    pub async fn publish_tasks(
        &self,
        given: &str,
        request: &PlanRequest,
    ) -> Result<TaskList, Error> {
        if request.tasks.is_empty() && request.cancel.is_empty() {
            return Err(Error::Missing {
                field: "tasks",
                expected: "at least one task, or a key in `cancel`".into(),
            });
        }
        let change = GoalChange::Publish {
            version: request.plan_version,
            plan: Plan {
                tasks: request.tasks.iter().cloned().map(Into::into).collect(),
                drops: request.cancel.clone(),
            },
        };
        let changed = self.change_goal(given, &change).await;
        changed.map_err(|error| {
            let field = match &error {
                Error::Store(store::Error::Goal(Refusal::Plan(faults))) => {
                    Some(field_of(faults, request))
                }
                _ => None,
            };
            match field {
                Some(field) => error.at_field(field),
                None => error,
            }
        })?;
        self.tasks(given).await
    }

    /// Changes one task for a person, by its ID. A comment goes to the entry seat of the goal as a message, so that the
    /// planner knows the reason. A goal that is over by the change takes no message.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if there is no such task, and a refusal with its status if it does not accept the change.
    #[boxed]
    pub async fn move_task(
        &self,
        given: &str,
        to: TaskMove,
        comment: Option<&str>,
    ) -> Result<Task, Error> {
        let id = task_id(given)?;
        let found = self.store.task_details(self.scope(), id).await?;
        let (session, key) = (found.session, found.task.key);
        let message = match comment {
            Some(comment) => Some(comment_message(&key, to, comment)?),
            None => None,
        };
        let change = match to {
            TaskMove::Retry => GoalChange::Retry(key),
            TaskMove::Cancel => GoalChange::CancelTask(key),
            TaskMove::Accept => GoalChange::Accept(key),
        };
        self.store
            .change_goal_with_comment(
                self.tenant,
                session,
                &change,
                message.as_deref(),
                self.now(),
            )
            .await?;
        let found = self.store.task_details(self.scope(), id).await?;
        Ok(view::task(session, found.round_limit, found.task))
    }
}

/// Returns the field of a request that has the first fault, such as `tasks[2].role`, or `tasks` if it is in none of them.
fn field_of(faults: &[PlanError], request: &PlanRequest) -> String {
    let fault = faults.first();
    let field = fault.and_then(PlanError::field);
    if field == Some("drops") {
        return "cancel".to_owned();
    }
    // The second task with a key is at fault. A task of `each` has the key of all of them and a number. The fault of an
    // invalid key, which may have a slash, too, has only its beginning.
    let key = fault.and_then(PlanError::key);
    let place = |key: &str| request.tasks.iter().rposition(|task| task.key == key);
    let index = match (fault, key) {
        (Some(PlanError::Key(_)), Some(key)) => place(key).or_else(|| {
            let mut tasks = request.tasks.iter();
            tasks.position(|task| task.key.starts_with(key))
        }),
        (_, Some(key)) => place(key).or_else(|| place(key.split_once('/')?.0)),
        (_, None) => None,
    };
    match (index, field) {
        (Some(index), Some(field)) => format!("tasks[{index}].{field}"),
        (Some(index), None) => format!("tasks[{index}]"),
        (None, _) => "tasks".to_owned(),
    }
}

fn task_id(given: &str) -> Result<TaskId, Error> {
    given.parse().map_err(|_| Error::NotFound {
        what: "task",
        given: given.chars().take(80).collect(),
        nearest: None,
    })
}

/// Returns the message that brings the comment of a person to the planner.
fn comment_message(key: &str, to: TaskMove, comment: &str) -> Result<String, Error> {
    const COMMENT_BYTES: usize = 8 << 10;
    let comment = comment.trim();
    if comment.is_empty() {
        return Err(Error::invalid("comment", comment, "it is empty"));
    }
    if comment.len() > COMMENT_BYTES {
        let problem = format!(
            "it has {} bytes, accepted are up to {COMMENT_BYTES}",
            comment.len()
        );
        return Err(Error::invalid("comment", comment, problem));
    }
    let done = match to {
        TaskMove::Retry => "retried",
        TaskMove::Cancel => "cancelled",
        TaskMove::Accept => "accepted",
    };
    Ok(format!("A person {done} the task {key}: {comment}"))
}

#[cfg(test)]
mod tests {
    use api_types::NewTaskRequest;

    use super::*;

    #[test]
    fn fault_of_plan_names_field_of_request() {
        let task = |key: &str| NewTaskRequest {
            key: key.to_owned(),
            ..NewTaskRequest::default()
        };
        let request = PlanRequest {
            tasks: vec![
                task("a"),
                task("b"),
                task("a"),
                task("a/b"),
                task(&"k".repeat(99)),
            ],
            ..PlanRequest::default()
        };
        let unknown = |field, key: &str| PlanError::UnknownKey {
            field,
            key: key.to_owned(),
            named: "x".to_owned(),
            nearest: None,
        };
        let duplicate = PlanError::Duplicate {
            key: "b/2".to_owned(),
            finished: "c".to_owned(),
        };
        let cases = [
            (vec![unknown("depends_on", "b")], "tasks[1].depends_on"),
            (vec![PlanError::RepeatedKey("a".into())], "tasks[2].key"),
            (vec![duplicate], "tasks[1]"),
            (vec![PlanError::Key("a/b".into())], "tasks[3].key"),
            (vec![PlanError::Key("k".repeat(80))], "tasks[4].key"),
            (vec![unknown("drops", "plan")], "cancel"),
            (vec![PlanError::Cycle(Vec::new())], "tasks"),
            (
                vec![PlanError::NoJudge("b".into()), PlanError::Cycle(Vec::new())],
                "tasks[1].review",
            ),
        ];
        for (faults, field) in cases {
            assert_eq!(field_of(&faults, &request), field, "{faults:?}");
        }
    }
}
