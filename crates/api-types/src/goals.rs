//! Goals: background sessions in which a team of agents works on one result.

use std::collections::BTreeMap;

use model::{
    QuestionId, SeatId, SessionId, Timestamp,
    goal::{BudgetLevel, GoalLimit, GoalStatus, LimitUsage},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Change, GoalBudgetPatch, Money, MoneyRequest};

/// A request that starts a goal, or creates a draft.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalRequest {
    /// The text of the goal, at most 32 KiB.
    #[schema(min_length = 1, max_length = 32768)]
    pub goal: String,
    /// The name of a team that ships with Matins. The default is `research`. Excluded by `team_file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub team: Option<String>,
    /// A team of your own, as the text of a TOML file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_file: Option<TeamFile>,
    /// The name or the ID of the agent of all seats for which the team names none. The default is the only configured agent.
    /// If the team names the agents of all seats, another agent is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub agent: Option<String>,
    /// The working directory, as an absolute path. The directory never changes. If absent, the goal gets a folder of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub cwd: Option<String>,
    /// `true` to state that the goal gets a folder of its own. Excluded by `cwd`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_folder: bool,
    /// The name or the ID of the instance on which the turns run. It must be a host. If absent, any instance begins the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub on: Option<String>,
    /// The stable external name of the goal and of its session. If absent, the server makes a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The title in lists. If absent, it is the beginning of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Commands that Matins runs after the work on each task of the role `worker`, and on each task of another role that
    /// writes files. They become the checks `verify`, `verify-2` and so on of the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Limits by their names, such as `turns`, in place of those of the team.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u32>,
    /// The budget of all turns together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<GoalBudgetRequest>,
    /// The instant from which no further turn starts. If absent, it follows from the limit `hours`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// `true` if the goal pauses after the first plan of its planner, until a person resumes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve_plan: bool,
    /// `true` to create a draft, which starts when a person starts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
}

/// A team as the text of a TOML file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamFile {
    /// The name of the file, which errors show.
    pub name: String,
    /// The content of the file, at most 512 KiB.
    #[schema(max_length = 524_288)]
    pub text: String,
}

/// The budget of a goal in a request. A limit that is absent does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoalBudgetRequest {
    /// The maximum growth of the contexts of all agents, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    pub tokens: Option<u64>,
    /// The maximum cost that the agents may report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MoneyRequest>,
}

/// The changes of a goal (merge patch, RFC 7396). A field that is absent keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoalPatch {
    /// The text of the goal. A new text requests another plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 32768)]
    pub goal: Option<String>,
    /// Limits by their names. Limits that are not named keep their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u32>,
    /// The budget of all turns together. A limit of it that is not named keeps its value. Null removes all of them.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<GoalBudgetPatch>)]
    pub budget: Change<GoalBudgetPatch>,
    /// The instant from which no further turn starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A move of a goal by a person, each with an operation of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalMove {
    /// Start a draft.
    Start,
    /// Start no further turn.
    Pause,
    /// Go on after a pause, or approve the first plan.
    Resume,
    /// Cancel the goal.
    Cancel,
    /// Request another plan.
    Replan,
}

impl GoalMove {
    /// Returns the last part of the path of the operation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Replan => "replan",
        }
    }
}

/// The budget of a goal. Null means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalBudget {
    /// The maximum growth of the contexts of all agents, in tokens.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub tokens: Option<u64>,
    /// The maximum cost that the agents may report.
    #[serde(default)]
    pub cost: Option<Money>,
}

/// The reason of a goal that is paused or has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalReason {
    /// A person paused the goal.
    Person,
    /// A budget is used up to 90 percent or more.
    Budget,
    /// The goal cannot go on by itself.
    Stuck,
    /// A person has to approve the first plan.
    ApprovePlan,
    /// A person cancelled the goal.
    Cancelled,
    /// The goal was stuck for as long as the limit allows.
    GivenUp,
}

impl GoalReason {
    /// Returns the word of the reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Budget => "budget",
            Self::Stuck => "stuck",
            Self::ApprovePlan => "approve_plan",
            Self::Cancelled => "cancelled",
            Self::GivenUp => "given_up",
        }
    }
}

/// The phase of a goal, which follows from the kinds of its open tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalPhase {
    /// The planner makes tasks.
    Planning,
    /// The seats work on tasks of the plan.
    Working,
    /// The judge judges the whole goal.
    Checking,
    /// The planner writes the report.
    Reporting,
}

impl GoalPhase {
    /// Returns the word of the phase.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Working => "working",
            Self::Checking => "checking",
            Self::Reporting => "reporting",
        }
    }
}

/// The numbers of a goal's tasks of the plan, by their status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskCounts {
    /// All tasks of the plan.
    #[schema(minimum = 0)]
    pub total: u32,
    /// The tasks that have their result.
    #[schema(minimum = 0)]
    pub done: u32,
    /// The tasks that have a seat.
    #[schema(minimum = 0)]
    pub running: u32,
    /// The tasks that wait for a seat.
    #[schema(minimum = 0)]
    pub ready: u32,
    /// The tasks that wait for others.
    #[schema(minimum = 0)]
    pub pending: u32,
    /// The tasks that have failed.
    #[schema(minimum = 0)]
    pub failed: u32,
    /// The tasks that will not be done.
    #[schema(minimum = 0)]
    pub cancelled: u32,
}

/// The usage that the agents of a goal, or of one of its seats, have reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalUsage {
    /// The growth of the agents' contexts, in tokens. Null if no agent has reported it.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub tokens: Option<u64>,
    /// The cost, one amount for each currency.
    pub cost: Vec<Money>,
    /// The number of runs that have ended and whose agents reported no usage.
    #[schema(minimum = 0)]
    pub unreported_runs: u32,
    /// The number of runs that have ended and whose agents reported no cost, so that a budget of money does not count them.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub runs_without_cost: u32,
}

/// The usage of a limit of a whole goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalLimitUsage {
    /// The limit.
    pub limit: GoalLimit,
    /// The level. If it is `low`, or if the time is used up, only the turn of the report starts, and otherwise none if it is
    /// `used_up`.
    pub level: BudgetLevel,
    /// The used part and the rest in words, such as `700 of 1000, 300 left`.
    pub text: String,
    /// The usage that the limit does not count, in words. Null if it counts everything.
    #[serde(default)]
    pub note: Option<String>,
}

impl From<LimitUsage> for GoalLimitUsage {
    fn from(usage: LimitUsage) -> Self {
        let LimitUsage {
            limit,
            level,
            text,
            note,
        } = usage;
        Self {
            limit,
            level,
            text,
            note,
        }
    }
}

/// A goal in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalSummary {
    /// The ID of the session of the goal.
    pub id: SessionId,
    /// The stable external name of the session.
    #[serde(default)]
    pub key: Option<String>,
    /// The title in lists. Null if the session has none.
    pub title: Option<String>,
    /// The text of the goal.
    pub goal: String,
    /// The state of the goal.
    pub state: GoalStatus,
    /// The reason of a goal that is paused or has failed. Null otherwise.
    #[serde(default)]
    pub reason: Option<GoalReason>,
    /// The cause for which the goal is stuck. Null otherwise.
    #[serde(default)]
    pub cause: Option<String>,
    /// The phase of a goal that is active or paused. Null otherwise.
    #[serde(default)]
    pub phase: Option<GoalPhase>,
    /// The name of the team.
    pub team: String,
    /// The numbers of tasks of the plan.
    pub tasks: TaskCounts,
    /// The number of turns that have started.
    #[schema(minimum = 0)]
    pub turns: u32,
    /// The highest number of turns. From 90 percent on, only the turn of the report starts.
    #[schema(minimum = 0)]
    pub turn_limit: u32,
    /// The usage that the agents have reported.
    pub usage: GoalUsage,
    /// The budget. Null if there is none.
    #[serde(default)]
    pub budget: Option<GoalBudget>,
    /// The instant from which no further turn starts. Null if there is none.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// The number of open questions of its agents. A server of an earlier version sends none.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub open_questions: u32,
    /// The number of permission requests of its agents that wait for a decision. A server of an earlier version sends
    /// none.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub open_approvals: u32,
    /// The instant at which the goal was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the goal.
    pub updated_at: Timestamp,
    /// The instant at which the goal was done or failed. Null until then.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Goal {
    /// The fields that lists show.
    #[serde(flatten)]
    pub summary: GoalSummary,
    /// The version of the plan: the number of its publications.
    #[schema(minimum = 0)]
    pub plan_version: u32,
    /// The number of plans after the first that were requested.
    #[schema(minimum = 0)]
    pub replans: u32,
    /// The highest number of plans after the first.
    #[schema(minimum = 0)]
    pub replan_limit: u32,
    /// The number of messages between seats, of which `limits` has the highest number.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub messages: u32,
    /// The number of turns for messages between seats.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub message_turns: u32,
    /// The number of such turns that two seats have taken alternately since the last turn of a task.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub alternating_turns: u32,
    /// The seats, the entry seat first.
    pub seats: Vec<GoalSeat>,
    /// The limits by their names.
    pub limits: BTreeMap<String, u32>,
    /// The usage of the limits at which the goal pauses: its cost, its tokens, its turns and its time, as far as it has them.
    #[serde(default)]
    pub limit_usage: Vec<GoalLimitUsage>,
    /// The commands that Matins runs after the work on tasks, by the names of their checks.
    pub checks: BTreeMap<String, String>,
    /// The instant at which the goal moves by itself, such as the one at which a stuck goal fails. Null if there is none.
    #[serde(default)]
    pub check_at: Option<Timestamp>,
    /// The open questions of agents to a person, the oldest first.
    pub questions: Vec<GoalQuestion>,
    /// The working directory that a person gave. Null if the goal has a folder of its own.
    #[serde(default)]
    pub directory: Option<String>,
}

/// The state of a seat of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalSeatState {
    /// The seat has no turn.
    Free,
    /// The seat has a turn.
    Busy,
    /// No server serves the instance of the seat. Turns of the seat wait.
    Offline,
    /// The instance was removed, with the memory of the seat. The seat never comes back.
    Removed,
}

/// A seat of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalSeat {
    /// The ID of the seat.
    pub id: SeatId,
    /// The name, such as `worker-1`.
    pub name: String,
    /// The role.
    pub role: String,
    /// The name of the agent.
    pub agent: String,
    /// The state.
    pub state: GoalSeatState,
    /// The key of the task of the turn under way. Null if the seat has no turn of a task.
    #[serde(default)]
    pub task: Option<String>,
    /// The number of its turns that have begun, with those of messages. A server of an earlier version sends none.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub turns: u32,
    /// The usage that the agent of the seat has reported. A server of an earlier version sends none.
    #[serde(default)]
    pub usage: GoalUsage,
}

/// An open question of an agent of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalQuestion {
    /// The ID of the question.
    pub id: QuestionId,
    /// The name of the seat whose agent asked.
    pub seat: String,
    /// The question.
    pub text: String,
    /// The answer that counts at the deadline. Null if there is none.
    #[serde(default)]
    pub default: Option<String>,
    /// The instant at which the default counts.
    pub deadline: Timestamp,
}

/// The report of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoalReport {
    /// The ID of the session of the goal.
    pub goal: SessionId,
    /// The state of the goal.
    pub state: GoalStatus,
    /// The reason of a goal that is paused or has failed. Null otherwise.
    #[serde(default)]
    pub reason: Option<GoalReason>,
    /// The report in Markdown: tables that Matins writes, and the text of the planner if there is one.
    pub text: String,
    /// `true` if the goal is done or has failed, so that the report does not change any more.
    pub complete: bool,
}
