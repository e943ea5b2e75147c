//! The transitions of goals. [`step`](self::step) has the one path on which a goal moves; the other modules call it.
//!
//! **Invariants:** a transition that moves a goal holds the locks of all seats of its session, and then that of the session.
//! It reads the graph, lets `model::goal::advance` decide, and writes the tasks, the runs, the events and the goal in one
//! transaction. A task becomes DONE once, because the update of a task compares its status.

mod answer;
mod check_rows;
mod checks;
mod checks_work;
mod create;
mod deadline;
mod idle;
mod message_turns;
mod messages;
mod people;
mod presence;
mod prompts;
mod starts;
mod step;
mod stop;
mod tick;
mod tool_calls;
mod turn_end;
mod usage;
mod view;

pub(crate) use answer::answer_task;
pub use check_rows::TaskChecks;
pub use create::NewGoal;
pub(super) use message_turns::{block_messages, message_attempt};
pub(super) use messages::{count_begun_turns, count_messages};
pub use people::GoalChange;
pub(crate) use step::{check_has_no_open_goal, close_goal, start_draft};
pub(super) use turn_end::{EndedTurn, end_turns};
pub use view::{
    GoalFilter, GoalItem, GoalReportRows, GoalSeat, GoalTask, GoalUsage, GoalView,
    ReportedArtifact, ReportedTask, RunVerdict, TaskCount, TaskDetails, TaskFinding, TaskRunRow,
};
pub(crate) use view::{read_last_findings, read_task_counts, task_views};
