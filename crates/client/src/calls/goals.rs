//! Operations on goals and their tasks.

use api_types::{
    Goal, GoalMove, GoalPatch, GoalReport, GoalRequest, GoalSummary, Page, PlanRequest, Task,
    TaskCommentRequest, TaskDetails, TaskList, TaskMove, TaskPatch,
};
use http::Method;
use model::goal::GoalStatus;

use super::PageParams;
use crate::{Client, Error, boxed};

/// The filter of a list of goals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalFilter {
    /// The state of the goals. `None` means any.
    pub state: Option<GoalStatus>,
    /// The requested part of the list.
    pub page: PageParams,
}

impl Client {
    /// Starts a goal, or creates a draft.
    #[boxed]
    pub async fn start_goal(&self, request: &GoalRequest) -> Result<Goal, Error> {
        self.post(&["goals"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Lists goals, the newest first.
    #[boxed]
    pub async fn goals(&self, filter: &GoalFilter) -> Result<Page<GoalSummary>, Error> {
        self.get(&["goals"])
            .query_param("state", filter.state.map(GoalStatus::as_str))
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Returns a goal, by the key, the ID or an ID prefix of its session.
    #[boxed]
    pub async fn goal(&self, goal: &str) -> Result<Goal, Error> {
        self.get(&["goals", goal]).fetch().await
    }

    /// Changes a goal.
    #[boxed]
    pub async fn edit_goal(&self, goal: &str, patch: &GoalPatch) -> Result<Goal, Error> {
        let call = self.call(Method::PATCH, &["goals", goal]);
        call.json(patch).fetch().await
    }

    /// Moves a goal to another state.
    #[boxed]
    pub async fn move_goal(&self, goal: &str, action: GoalMove) -> Result<Goal, Error> {
        self.post(&["goals", goal, action.as_str()]).fetch().await
    }

    /// Returns the report of a goal as it stands.
    #[boxed]
    pub async fn goal_report(&self, goal: &str) -> Result<GoalReport, Error> {
        self.get(&["goals", goal, "report"]).fetch().await
    }

    /// Lists the tasks of a goal.
    #[boxed]
    pub async fn tasks(&self, goal: &str) -> Result<TaskList, Error> {
        self.get(&["sessions", goal, "tasks"]).fetch().await
    }

    /// Adds, replaces and cancels tasks of a goal.
    #[boxed]
    pub async fn publish_tasks(
        &self,
        goal: &str,
        request: &PlanRequest,
    ) -> Result<TaskList, Error> {
        self.post(&["sessions", goal, "tasks"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Returns a task by its ID.
    #[boxed]
    pub async fn task(&self, task: &str) -> Result<TaskDetails, Error> {
        self.get(&["tasks", task]).fetch().await
    }

    /// Changes a task that has not begun or has failed.
    #[boxed]
    pub async fn edit_task(&self, task: &str, patch: &TaskPatch) -> Result<TaskDetails, Error> {
        let call = self.call(Method::PATCH, &["tasks", task]);
        call.json(patch).fetch().await
    }

    /// Retries, cancels or accepts a task.
    #[boxed]
    pub async fn move_task(
        &self,
        task: &str,
        action: TaskMove,
        comment: Option<&str>,
    ) -> Result<Task, Error> {
        let request = TaskCommentRequest {
            comment: comment.map(str::to_owned),
        };
        let call = self.post(&["tasks", task, action.as_str()]);
        call.json(&request).fetch().await
    }
}
