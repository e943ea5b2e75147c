//! The withdrawal of a staged cancellation.

use model::{
    Timestamp,
    goal::{Refusal, validate},
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
                if plan.tasks.iter().any(|task| task.key == key) {
                    return Err(Error::Goal(Refusal::NewTask(key.to_owned())));
                }
                if !plan.drops.iter().any(|it| it == key) {
                    validate(&turn.goal.graph, &cancellation(key))
                        .map_err(|it| Error::Goal(Refusal::Plan(it)))?;
                    return Err(Error::Goal(Refusal::NotCancelled(key.to_owned())));
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
