//! The part of the history that belongs to goals.

use anyhow::Result;
use serde::Deserialize;

use super::{
    database::Database,
    goal_plan::{PlannedTask, planned_tasks},
    queries,
};

/// The records of the goals.
#[derive(Debug, Clone, Default)]
pub(crate) struct GoalHistory {
    /// The plan that the planner of each goal makes.
    pub(crate) plan: Vec<PlannedTask>,
    pub(crate) ends: Vec<GoalEnd>,
    pub(crate) tasks: Vec<GoalTask>,
}

/// The end of a goal, as its person saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct GoalEnd {
    /// The ID of the session of the goal.
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    /// The text of the report.
    pub(crate) report: String,
}

/// A row of `agent_tasks`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct GoalTask {
    /// The ID, without a prefix.
    pub(crate) id: String,
    pub(crate) goal: String,
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) plan_version: i64,
}

impl GoalTask {
    /// Returns the key of the planned task. A task for an item has a slash after it.
    pub(crate) fn planned_key(&self) -> &str {
        self.key.split('/').next().unwrap_or_default()
    }
}

impl GoalHistory {
    /// Reads the tasks of the database.
    pub(crate) async fn read(database: &Database, ends: Vec<GoalEnd>) -> Result<Self> {
        Ok(Self {
            plan: planned_tasks(),
            ends,
            tasks: database.rows(queries::TASKS).await?,
        })
    }
}
