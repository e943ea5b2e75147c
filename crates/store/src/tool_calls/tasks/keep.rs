//! The withdrawal of a staged cancellation.

use model::{
    Timestamp,
    goal::{Refusal, Task, TaskStatus, validate},
};

use super::{TaskTurn, cancellation};
use crate::{Error, Scope, boxed, goals::read_staged, store::Store, tool_caller::ToolCaller};

impl Store {
    /// Withdraws the staged cancellation of the task with a key by a planner. Returns the number of staged changes that are
    /// left.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::create_task`], and [`Error::Goal`] if the plan cancels no task of that key.
    #[boxed]
    pub async fn withdraw_cancellation(
        &self,
        caller: &ToolCaller,
        key: &str,
        now: Timestamp,
    ) -> Result<usize, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock.
                let turn = TaskTurn::lock_planner(tx, caller, now).await?;
                // 2. Decide.
                let plan = read_staged(tx, turn.session()).await?;
                if !plan.drops.iter().any(|it| it == key) {
                    let graph = &turn.goal.graph;
                    validate(graph, &cancellation(key))
                        .map_err(|it| Error::Goal(Refusal::Plan(it)))?;
                    let first = graph.named(key).first();
                    let first = first.map(|no| &graph.tasks()[no.0]);
                    return Err(Error::Goal(Refusal::Task {
                        task: key.to_owned(),
                        status: first.map_or(TaskStatus::Pending, Task::status),
                        accepted: "tasks whose cancellation is staged are accepted",
                    }));
                }
                // 3. Write.
                let params = params![turn.session(), key];
                tx.execute(sql!("staged_tasks/delete_one"), params).await?;
                Ok(plan.tasks.len() + plan.drops.len() - 1)
            })
        })
        .await
    }
}
