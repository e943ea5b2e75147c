//! The life cycle of runs, one transition in each file.
//!
//! A run is one attempt at an input. The run is `deferred` while it waits for its seat, `queued` while it waits for a
//! worker, `delivered` once a worker has claimed it, `running` during its turn, and then over.

pub(crate) mod admit;
mod begin;
mod begin_again;
pub(crate) mod cancel;
mod claim;
pub(crate) mod create;
mod decline;
mod directory;
mod edit;
mod end;
mod fire;
mod fire_by_file;
mod follow_up_notice;
mod goals;
mod heartbeat;
mod interrupted;
mod message;
mod of_runtime;
mod over_budget;
mod precheck;
mod read;
mod record;
mod requeue;
mod retry;
mod run_report;
pub(crate) mod run_usage;
pub(crate) mod seat_input;
mod seat_opening;
mod seat_policies;
mod start_candidate;
mod sweep;
mod task_memories;
mod turn_context;
mod webhook;

pub use directory::DirectoryRefusal;
pub use fire::FireReport;
pub use goals::{
    GoalChange, GoalFilter, GoalItem, GoalReportRows, GoalSeat, GoalTask, GoalUsage, GoalView,
    NewGoal, ReportedArtifact, ReportedTask, RunVerdict, TaskChecks, TaskCount, TaskDetails,
    TaskFinding, TaskRunRow,
};
pub(crate) use goals::{
    answer_task, check_has_no_open_goal, close_goal, read_last_findings, read_task_counts,
    start_draft, task_views,
};
pub(crate) use read::read_page;
pub use read::{CountedRun, RunFilter, RunNames};
pub use sweep::PromotionReport;
pub use webhook::WebhookReceipt;
