//! Tasks of goals.

use model::{
    RunId, SessionId, TaskId, Timestamp,
    goal::{CountedVerdict, NewTask, Severity, Step, TaskKind, TaskStatus},
    run::RunStatus,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tasks of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    /// The version of the plan. A change of the plan names it.
    #[schema(minimum = 0)]
    pub plan_version: u32,
    /// The tasks, in the order in which they were made.
    pub tasks: Vec<Task>,
}

/// A task of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// The ID of the task.
    pub id: TaskId,
    /// The ID of the session of the goal.
    pub goal_id: SessionId,
    /// The key, unique in the goal.
    pub key: String,
    /// The title.
    pub title: String,
    /// The kind.
    pub kind: TaskKind,
    /// The role whose seats take the task.
    pub role: String,
    /// The status.
    pub status: TaskStatus,
    /// The step of a running task. Null otherwise.
    #[serde(default)]
    pub step: Option<Step>,
    /// The name of the seat that has the turn, waits for it, or gets the answer. Otherwise that of the seat which has worked on
    /// the task. Null if there is none.
    #[serde(default)]
    pub seat: Option<String>,
    /// The number of rounds in which checks or the judge sent the task back.
    #[schema(minimum = 0)]
    pub round: u32,
    /// The number of rounds after which the task fails as `not accepted`.
    #[schema(minimum = 0)]
    pub round_limit: u32,
    /// The number of failed attempts.
    #[schema(minimum = 0)]
    pub attempts: u32,
    /// `true` if the goal can be done without the task.
    pub optional: bool,
    /// `true` if the planner marked the task for review.
    pub review: bool,
    /// The rank among tasks that are ready, from 0, which starts first, to 9.
    #[schema(minimum = 0, maximum = 9)]
    pub priority: u8,
    /// The version of the plan that published the task, or with which a person last edited it.
    #[schema(minimum = 0)]
    pub plan_version: u32,
    /// The keys of tasks that must be satisfied first.
    pub depends_on: Vec<String>,
    /// The thing for which the task waits, as a text. Null if it waits for nothing.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// The reason of a task that is over. Null otherwise.
    #[serde(default)]
    pub reason: Option<String>,
    /// The text behind the reason of a failed task: the faults of a refused plan, the error or the cancellation of the last
    /// run, or the last words of the agent. Null for other tasks, and if the findings tell the cause.
    #[serde(default)]
    pub cause: Option<String>,
    /// The result that the agent reported. Null until then.
    #[serde(default)]
    pub result: Option<String>,
    /// The instant at which the task was published.
    pub created_at: Timestamp,
    /// The instant at which the task first got a seat. Null until then.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// The instant at which the task was over. Null until then.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

/// A task with its texts, its findings and its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetails {
    /// The fields that lists show.
    #[serde(flatten)]
    pub task: Task,
    /// The description.
    pub description: String,
    /// The lines by which the result is judged.
    pub acceptance: Vec<String>,
    /// The path prefixes that the task writes.
    pub writes: Vec<String>,
    /// The names of the checks that Matins runs after the work.
    pub checks: Vec<String>,
    /// The names of the artifacts of the result.
    pub artifacts: Vec<String>,
    /// The findings of the last round, of checks and of the judge.
    pub findings: Vec<TaskFinding>,
    /// The evidence of the judge that accepted the task.
    pub evidence: Vec<String>,
    /// The end and the last lines of each check of the last round that ran, or the reason for which none could run.
    #[serde(default)]
    pub check_output: Vec<String>,
    /// The number of tool calls of the last round of work on the task, without those of the tools of Matins. A result without any
    /// call may be invented. Null if the server does not count them.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub tool_calls: Option<u32>,
    /// The first 20 paths outside of `writes` that the agents of the work report to have changed: relative to the directory of
    /// the turn, or absolute if they are not in it. Agents may have invented them.
    #[serde(default)]
    pub edits_outside_writes: Vec<String>,
    /// The number of further paths outside of `writes`.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub more_edits_outside_writes: u32,
    /// The runs of the task, the oldest first.
    pub runs: Vec<TaskRun>,
}

/// A finding about the result of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFinding {
    /// The ID, which stays the same in each round.
    pub id: String,
    /// The text.
    pub text: String,
    /// The severity.
    pub severity: Severity,
    /// The number of the acceptance line that the result misses, from 1. Null if the judge names none.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub criterion: Option<u32>,
    /// The name of the check, or `judge`.
    pub from: String,
}

/// A run of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskRun {
    /// The ID of the run.
    pub id: RunId,
    /// The status.
    pub status: RunStatus,
    /// The kind of the prompt, such as `work` or `review`. Null for an input that is no turn of the task.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The name of the seat.
    pub seat: String,
    /// The instant at which the run began. Null until then.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// The instant at which the run was over. Null until then.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// The verdict of a turn of the judge as it counts: `accept` also for a `send_back` none of whose findings count. Null for
    /// other turns, and if no verdict counts: none was reported, the turn did not end with success, the verdict lacks its
    /// evidence or its findings, or the task was over before the turn ended.
    #[serde(default)]
    pub verdict: Option<CountedVerdict>,
    /// The evidence of the verdict. Empty if `verdict` is null.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The findings of the verdict, with those that do not count. Empty if `verdict` is null.
    #[serde(default)]
    pub findings: Vec<TaskFinding>,
}

/// A change of the plan by a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The version of the plan that the person has read.
    #[schema(minimum = 0)]
    pub plan_version: u32,
    /// The new tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<NewTaskRequest>,
    /// The keys of tasks to cancel or to drop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancel: Vec<String>,
}

/// A new task of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTaskRequest {
    /// The key, unique in the goal.
    #[schema(min_length = 1, max_length = 40)]
    pub key: String,
    /// The title.
    #[schema(min_length = 1)]
    pub title: String,
    /// The description, at most 16 KiB.
    #[serde(default)]
    pub description: String,
    /// The role whose seats take the task.
    pub role: String,
    /// The keys of tasks that must be satisfied first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The lines by which the result is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// The names of checks of the team, which Matins runs after the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The path prefixes that the task writes. If absent, they are those of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Vec<String>>,
    /// The keys of tasks that this one replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// The rank among tasks that are ready, from 0, which starts first, to 9. The default is 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9)]
    pub priority: Option<u8>,
    /// `true` if the goal can be done without the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// `true` if the judge has to review the result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The items. With items, each makes a task of its own, in whose texts and paths it replaces `{item}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<String>,
}

impl From<NewTaskRequest> for NewTask {
    fn from(request: NewTaskRequest) -> Self {
        let NewTaskRequest {
            key,
            title,
            description,
            role,
            depends_on,
            acceptance,
            checks,
            writes,
            replaces,
            priority,
            optional,
            review,
            each,
        } = request;
        let defaults = Self::new(&key, &role);
        Self {
            title,
            description,
            depends_on,
            acceptance,
            checks,
            writes,
            replaces,
            priority: priority.unwrap_or(defaults.priority),
            optional,
            review,
            each,
            ..defaults
        }
    }
}

/// The changes of a task. A field that is absent or null keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskPatch {
    /// The title, at most 120 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 120)]
    pub title: Option<String>,
    /// The description, at most 16 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 16384)]
    pub description: Option<String>,
    /// The lines by which the result is judged, at most 10 with 500 bytes each. An empty list removes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    pub acceptance: Option<Vec<String>>,
    /// The rank among tasks that are ready, from 0, which starts first, to 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9)]
    pub priority: Option<u8>,
}

/// The comment of a person on a change of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskCommentRequest {
    /// The reason of the change, which the planner gets as a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 8192)]
    pub comment: Option<String>,
}

/// A move of a task by a person, each with an operation of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMove {
    /// Retry a failed task, or a broken check or review.
    Retry,
    /// Cancel an open task, or drop a failed one.
    Cancel,
    /// Accept a failed task, or one under review.
    Accept,
}

impl TaskMove {
    /// Returns the last part of the path of the operation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Accept => "accept",
        }
    }
}
