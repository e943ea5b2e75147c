//! The documents of goals: `goals.team`, `goals.limits`, `goals.budget`, `goals.progress`, `agent_tasks.progress`, `staged_tasks.task` and
//! `task_reports.body`.

mod budget;
mod limits;
mod progress;
mod seat_policies;
mod task;
mod team;

pub(crate) use budget::StoredGoalBudget;
pub(crate) use limits::StoredLimits;
pub(crate) use progress::StoredGoalProgress;
pub(crate) use task::{StoredNewTask, StoredReport, StoredTaskState, TaskState as TaskDocument};
pub(crate) use team::{GoalTeam, StoredTeam};
