//! The tasks of a goal: their graph, and the one function that moves it.
//!
//! ```text
//! task  PENDING → READY → RUNNING (work ⇄ review, work ⇄ question) → DONE | FAILED
//!       PENDING | READY | RUNNING → CANCELLED;  FAILED → READY (retry) | DONE (accept) | CANCELLED (drop)
//! goal  draft → active → done | failed;  active ⇄ paused;  paused → failed
//! ```
//!
//! [`advance`] takes a [`Graph`] and one [`Event`], and returns the [`Effect`]s that the caller has to carry out, such as
//! the start of a turn. It decides readiness, the order of turns, the propagation of failures and cancellations, the end of
//! the goal, and the moment at which a goal is stuck. No model decides any of these. [`Graph::waits_for`] tells the reason for
//! which a task does not run, for the dispatch, the lists and the page alike.
//!
//! **Invariants:** a task becomes DONE at most once. A task runs only after all of its dependencies are satisfied. Tasks with
//! overlapping `writes` never run together in one directory. The tasks have no cycle. After each event, an active goal has
//! an open turn, check, question or deadline.
//!
//! **Cost:** an event without a plan costs O(c log n + r·w log n): `c` dependencies of the tasks that change, and `r` READY
//! tasks in front of the next startable one, with `w` path prefixes each. A publication costs O((n + d) log n) for `n` tasks
//! with `d` dependencies in the whole goal, so that 10,000 tasks cost about ten times as much as 1,000.

mod advance;
mod budget;
mod checks;
mod cycle;
mod dispatch;
mod edit;
mod ending;
mod event;
mod goal_status;
mod graph;
mod limit_usage;
mod limits;
mod message_delay;
mod mover;
mod new_task;
mod numbers;
mod outside_edits;
mod parts;
mod people;
mod plan;
mod plan_error;
mod plan_fields;
mod publish;
mod report;
mod report_fault;
mod report_schema;
mod review;
mod seat;
mod seat_changes;
mod task;
mod task_fields;
mod task_role;
mod team;
pub mod text_limits;
mod turn_end;
mod waits_for;
mod writes;

#[cfg(test)]
mod tests_edits;
#[cfg(test)]
mod tests_first_plan;
#[cfg(test)]
mod tests_limits;
#[cfg(test)]
mod tests_messages;
#[cfg(test)]
mod tests_naive;
#[cfg(test)]
mod tests_naive_events;
#[cfg(test)]
mod tests_naive_messages;
#[cfg(test)]
mod tests_naive_plan;
#[cfg(test)]
mod tests_naive_settle;
#[cfg(test)]
mod tests_naive_turns;
#[cfg(test)]
mod tests_naive_waits;
#[cfg(test)]
mod tests_oracle;
#[cfg(test)]
mod tests_parts;
#[cfg(test)]
mod tests_plan;
#[cfg(test)]
mod tests_properties;
#[cfg(test)]
mod tests_random;
#[cfg(test)]
mod tests_report_schema;
#[cfg(test)]
mod tests_reviews;
#[cfg(test)]
mod tests_rules;
#[cfg(test)]
mod tests_seats;
#[cfg(test)]
mod tests_support;
#[cfg(test)]
mod tests_verification;

pub use advance::advance;
pub use budget::GoalBudget;
pub use checks::{ChecksEnd, ChecksJob, EVIDENCE_LINES, NamedCheck, last_lines};
pub use event::{
    BudgetLevel, Deadline, Effect, Event, Finding, GoalState, PauseReason, Refusal, Severity,
    StuckCause, TurnEnd, Verdict,
};
pub use goal_status::{GoalEvent, GoalStatus};
pub use graph::{Alternation, Graph, SeatsWait, Stop};
pub use limit_usage::{GoalLimit, LimitUsage, LimitedGoal, short_time};
pub use limits::{Limits, MAX_TASKS};
pub use message_delay::MessageDelay;
pub use new_task::{NewTask, Plan, names_task};
pub use outside_edits::EditsOutsideWrites;
pub use parts::{GoalProgress, PartsError, SeatProgress};
pub use plan::validate;
pub use plan_error::PlanError;
pub use report::{CountedVerdict, ReportBody, ReportStatus, ReportedFinding};
pub use report_fault::ReportFault;
pub use report_schema::{AnswerReport, ReportKind, report_in_answer, report_schema};
pub use review::{counted_findings, is_complete_verdict, needed_evidence};
pub use seat::{Directory, Input, Memory, Presence, Prompt, Seat, SeatNo};
pub use task::{
    Activity, CancelReason, DoneBy, FailReason, Progress, Step, Task, TaskEvent, TaskKind, TaskNo,
    TaskState, TaskStatus,
};
pub use task_fields::{TaskEdit, TaskFields};
pub use task_role::TaskRole;
pub(crate) use team::is_verified;
pub use team::{
    JUDGE, MAX_SEATS, PLANNER, Reviews, Role, SEATS_PER_ROLE, SeatSpec, Team, TeamError, WORKER,
};
pub use waits_for::WaitsFor;
pub(crate) use writes::normalize as normalize_path;
