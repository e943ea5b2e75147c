//! The part of a task that lines about its changes show.

use api_types::{Step, Task, TaskStatus};

/// The part of a task whose change is a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct PrintedTask {
    pub(in crate::commands) status: TaskStatus,
    pub(in crate::commands) step: Option<Step>,
    pub(in crate::commands) seat: Option<String>,
    pub(in crate::commands) round: u32,
    /// The version of the plan, which an edit of the task changes.
    pub(in crate::commands) plan_version: u32,
    /// The thing for which a running task waits, such as a person. `None` for other tasks, because theirs changes whenever one
    /// of the tasks before them ends.
    pub(in crate::commands) waits_for: Option<String>,
}

impl PrintedTask {
    /// Returns this part of a task.
    pub(in crate::commands) fn new(task: &Task) -> Self {
        Self {
            status: task.status,
            step: task.step,
            seat: task.seat.clone(),
            round: task.round,
            plan_version: task.plan_version,
            waits_for: match task.status {
                TaskStatus::Running => task.waits_for.clone(),
                _ => None,
            },
        }
    }

    /// `true` if the task waits for other tasks or for a seat.
    pub(in crate::commands) const fn is_waiting(&self) -> bool {
        match self.status {
            TaskStatus::Pending | TaskStatus::Ready => true,
            TaskStatus::Running => self.seat.is_none(),
            TaskStatus::Done | TaskStatus::Failed | TaskStatus::Cancelled => false,
        }
    }
}
