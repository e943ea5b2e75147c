//! The tasks of a goal, as the agent of any turn in its session lists them.

use model::{
    TaskId, Timestamp,
    goal::{Plan, TaskRole},
    lifecycle::InvalidTransition,
};

use super::read_task;
use crate::{
    Error, Scope, boxed,
    goals::{read_goal, read_staged},
    runs::{GoalTask, TaskFinding, read_last_findings, task_views},
    store::Store,
    tool_caller::ToolCaller,
    tool_calls::{CallingTurn, read_turn},
};

/// The tasks of a goal, as the agent of a turn sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnTasks {
    /// The version of the plan.
    pub plan_version: i64,
    /// The tasks, in the order of their numbers.
    pub tasks: Vec<GoalTask>,
    /// The changes that a planner has staged. Other agents see none.
    pub staged: Plan,
}

/// The content of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContent {
    /// The description.
    pub description: String,
    /// The lines by which the result is judged.
    pub acceptance: Vec<String>,
    /// The name of the role whose seats take the task.
    pub role: String,
    /// The keys of the tasks that must be satisfied first.
    pub depends_on: Vec<String>,
    /// The path prefixes that the task writes.
    pub writes: Vec<String>,
    /// The names of the checks that Matins runs after the work.
    pub checks: Vec<String>,
    /// The findings of the last round.
    pub findings: Vec<TaskFinding>,
}

fn not_in_goal(turn: &CallingTurn) -> Error {
    Error::Refused(InvalidTransition {
        what: "run",
        object: Some(turn.run.to_string()),
        state: "no turn of a goal".to_owned(),
        event: "list tasks".to_owned(),
    })
}

impl Store {
    /// Lists the tasks of the goal of a turn, which may be one of a task or of another input, such as a message.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], and [`Error::Refused`] if the session has no goal.
    #[boxed]
    pub async fn list_tasks(
        &self,
        caller: &ToolCaller,
        now: Timestamp,
    ) -> Result<TurnTasks, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let turn = read_turn(&mut tx, caller, now).await?;
        let session = turn.session.id;
        let row = tx
            .fetch_optional(sql!("goals/plan_version"), params![session])
            .await?;
        let row = row.ok_or_else(|| not_in_goal(&turn))?;
        let tasks = task_views(&mut tx, Scope::Tenant(turn.tenant), session).await?;
        let task = read_task(&mut tx, turn.run).await?;
        let is_plan = task.is_some_and(|task| task.role == TaskRole::Planner);
        let staged = if is_plan {
            read_staged(&mut tx, session).await?
        } else {
            Plan::default()
        };
        Ok(TurnTasks {
            plan_version: row.get("plan_version")?,
            tasks,
            staged,
        })
    }

    /// Reads the content of a task of the goal of a turn.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::list_tasks`], and a not-found error if the goal has no such task.
    #[boxed]
    pub async fn task_content(
        &self,
        caller: &ToolCaller,
        task: TaskId,
        now: Timestamp,
    ) -> Result<TaskContent, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let turn = read_turn(&mut tx, caller, now).await?;
        let goal = read_goal(&mut tx, turn.session.id).await?;
        let goal = goal.ok_or_else(|| not_in_goal(&turn))?;
        let not_found = || Error::not_found("task", task);
        let no = goal.task_no(task).ok_or_else(not_found)?;
        let rows = vec![params![task]];
        let rows = tx.fetch_rows(sql!("tasks/texts"), rows, params![]).await?;
        let texts = rows.first().ok_or_else(not_found)?;
        let graph = &goal.graph;
        let row = &graph.tasks()[no.0];
        let role = graph.team().roles.get(row.role);
        let depends_on = row
            .depends_on
            .iter()
            .map(|no| graph.tasks()[no.0].key.clone());
        Ok(TaskContent {
            description: texts.get("description")?,
            acceptance: texts.json("acceptance")?,
            role: role.map_or_else(String::new, |role| role.name.clone()),
            depends_on: depends_on.collect(),
            writes: row.writes.clone(),
            checks: row.checks.clone(),
            findings: read_last_findings(&mut tx, row, task).await?,
        })
    }
}
