//! The body of a task's event.

use model::{
    SeatId,
    event::TaskChange,
    goal::{Step, TaskStatus},
};
use serde::{Deserialize, Serialize};

/// The state of a task after a move.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskBody {
    key: String,
    status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<Step>,
    #[serde(default)]
    round: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seat: Option<SeatId>,
    #[serde(default)]
    plan_version: u32,
}

impl TaskBody {
    pub(super) fn of(change: &TaskChange) -> Self {
        let change = change.clone();
        Self {
            key: change.key,
            status: change.status,
            step: change.step,
            round: change.round,
            seat: change.seat,
            plan_version: change.plan_version,
        }
    }

    pub(super) fn into_change(self) -> TaskChange {
        TaskChange {
            key: self.key,
            status: self.status,
            step: self.step,
            round: self.round,
            seat: self.seat,
            plan_version: self.plan_version,
        }
    }
}
