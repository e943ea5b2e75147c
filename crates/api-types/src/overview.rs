//! The overview of a tenant, and its timeline.

use model::{AutomationId, SessionId, Timestamp, automation::AutomationState, run::RunStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Approval, AutomationItem, BudgetUsage, GoalReason, Money, Question, RunItem, RunOutcome,
    UpcomingRun,
};

/// What a person should know at first sight: what ran, what failed, what waits, what comes next, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// The instant of the overview, by the clock of the server.
    pub now: Timestamp,
    /// The beginning of the period of `counts`.
    pub since: Timestamp,
    /// The numbers of inputs, by their outcomes.
    pub counts: OutcomeCounts,
    /// The number of runs that wait for a server which has their directory. A server of an earlier version sends none.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub without_directory: u64,
    /// `true` if the period has more inputs than the server counts, so that the numbers of outcomes are too low.
    pub counts_cut: bool,
    /// What needs a person.
    pub needs: Needs,
    /// The newest running turns, the newest first, at most 10.
    pub running: Vec<RunItem>,
    /// The next run of each of the five automations that run next, the earliest first.
    pub next_runs: Vec<NextRun>,
    /// The budget of the tenant, and the usage of today and of this month, in UTC.
    pub usage: BudgetUsage,
    /// The numbers of runs of today, in UTC, whose agents reported their usage.
    pub reported: ReportedUsage,
    /// The same numbers of this month, in UTC. Those of earlier days may be some minutes old. A server of an earlier
    /// version sends none.
    #[serde(default)]
    pub reported_in_month: ReportedUsage,
    /// The automations and goals that used the most today, in UTC, and the conversations of people as one of them, the highest
    /// cost first, at most three. One whose agents report several currencies appears once for each, and its tokens and turns
    /// stand beside its highest cost.
    pub spenders: Vec<Spender>,
    /// `true` if a server fires triggers and takes turns.
    pub has_server: bool,
}

/// The numbers of inputs, by their outcomes so far. A retried input counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutcomeCounts {
    /// Inputs that succeeded.
    #[schema(minimum = 0)]
    pub succeeded: u64,
    /// Inputs that failed after all their attempts.
    #[schema(minimum = 0)]
    pub failed: u64,
    /// Inputs whose last attempt stalled.
    #[schema(minimum = 0)]
    pub stalled: u64,
    /// Cancelled inputs.
    #[schema(minimum = 0)]
    pub cancelled: u64,
    /// Due instants that were missed.
    #[schema(minimum = 0)]
    pub missed: u64,
    /// Due instants that were skipped.
    #[schema(minimum = 0)]
    pub skipped: u64,
    /// Turns that run now, whenever they began.
    #[schema(minimum = 0)]
    pub running: u64,
    /// Inputs that wait now, whenever they arrived.
    #[schema(minimum = 0)]
    pub queued: u64,
    /// Inputs whose trigger files wait now in the folders of instances. A server of an earlier version counts them as
    /// running.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub delivered: u64,
}

/// What needs a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Needs {
    /// The approvals that wait, the earliest deadline first, at most 100.
    pub approvals: Vec<WaitingApproval>,
    /// The questions that wait, the earliest deadline first, at most 100. A server of an earlier version sends none.
    #[serde(default)]
    pub questions: Vec<WaitingQuestion>,
    /// The goals that wait for the approval of their plan, are stuck or have reached a limit, and those that were given up
    /// in the period of the failures, the newest first, at most 20. A server of an earlier version sends none.
    #[serde(default)]
    pub goals: Vec<WaitingGoal>,
    /// The failures of the period, or of the last 24 hours if the period is shorter: those of each automation or
    /// conversation and each reason together, at most 20. Those that were followed by a success come last.
    pub failures: Vec<FailureGroup>,
    /// The automations that need attention, and those that paused themselves, the latest change first, at most 20.
    pub automations: Vec<AutomationItem>,
    /// `true` if one of the lists is cut.
    pub cut: bool,
}

/// An approval that waits, with the names of its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingApproval {
    /// The approval.
    #[serde(flatten)]
    pub approval: Approval,
    /// The name of the automation. Null if the run has none.
    pub automation_name: Option<String>,
    /// The title of the session. Null if the session has no title.
    pub session_title: Option<String>,
}

/// A question that waits, with the names of its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingQuestion {
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// The name of the automation. Null if the run has none.
    pub automation_name: Option<String>,
    /// The title of the session. Null if the session has no title.
    pub session_title: Option<String>,
}

/// A goal that needs a person: a paused one that only a person can move, or one that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingGoal {
    /// The ID of the session of the goal.
    pub id: SessionId,
    /// The title in lists. Null if the session has none.
    pub title: Option<String>,
    /// The text of the goal, cut to 200 characters.
    pub goal: String,
    /// The reason of the pause: `approve_plan`, `stuck` or `budget`. `given_up` if the goal has failed because it was stuck for
    /// too long.
    pub reason: GoalReason,
    /// The cause for which the goal is stuck. Null otherwise.
    pub cause: Option<String>,
    /// The instant of the last change of the goal.
    pub updated_at: Timestamp,
}

/// Inputs of one automation or one conversation that did not succeed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureGroup {
    /// The automation. Null if people sent the inputs.
    pub automation_id: Option<AutomationId>,
    /// The name of the automation, also if the automation is deleted.
    pub automation_name: Option<String>,
    /// The session of the newest of the inputs. Null if the occurrence was missed.
    pub session_id: Option<SessionId>,
    /// The title of the session. Null if the session has no title.
    pub session_title: Option<String>,
    /// The name of the agent.
    pub agent_name: Option<String>,
    /// The common status: `failed`, `stalled` or `missed`.
    pub status: RunStatus,
    /// The common reason. Null if the run has none.
    pub reason: Option<String>,
    /// The number of inputs, or the number of missed instants.
    #[schema(minimum = 1)]
    pub count: u64,
    /// The due instant of the first of them, or the instant at which its input arrived.
    pub first_at: Timestamp,
    /// The newest of them.
    pub last: RunOutcome,
    /// `true` if a later input of the automation or the conversation succeeded.
    pub recovered: bool,
}

/// The next run of an automation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextRun {
    /// The automation.
    pub automation_id: AutomationId,
    /// The name of the automation.
    pub automation_name: String,
    /// The run.
    #[serde(flatten)]
    pub run: UpcomingRun,
}

/// The numbers of runs whose agents reported their usage. A retried input counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportedUsage {
    /// All runs whose turn has ended.
    #[schema(minimum = 0)]
    pub runs: u64,
    /// The runs with reported tokens.
    #[schema(minimum = 0)]
    pub with_tokens: u64,
    /// The runs with a reported cost.
    #[schema(minimum = 0)]
    pub with_cost: u64,
}

/// The usage of an automation, of a goal, or of all conversations of people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Spender {
    /// The automation. Null for a goal and for the conversations.
    pub automation_id: Option<AutomationId>,
    /// The name of the automation, also if the automation is deleted.
    pub automation_name: Option<String>,
    /// The goal, by the ID of its session. Null for an automation and for the conversations. A server of an earlier version
    /// sends none, and counts goals as conversations.
    #[serde(default)]
    pub goal_id: Option<SessionId>,
    /// The title of the goal, or the beginning of its text if it has none.
    #[serde(default)]
    pub goal_title: Option<String>,
    /// The cost that the agents reported. Null if they reported none.
    pub cost: Option<Money>,
    /// The growth of all agents' contexts, in tokens.
    #[schema(minimum = 0)]
    pub tokens: u64,
    /// The number of turns that began.
    #[schema(minimum = 0)]
    pub turns: u64,
}

/// What ran in a period, and what will run: a lane for each automation, and one for the conversations of people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The instant of the timeline, by the clock of the server.
    pub now: Timestamp,
    /// The beginning of the period.
    pub from: Timestamp,
    /// The end of the period.
    pub to: Timestamp,
    /// The lanes: those whose last input did not succeed come first, then the others by their next run.
    pub lanes: Vec<Lane>,
    /// `true` if more automations ran or are due in the period.
    pub lanes_cut: bool,
    /// `true` if the period has more inputs than the server reads. The oldest ones are missing.
    pub runs_cut: bool,
}

/// The runs of an automation, or those of all conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lane {
    /// The automation. Null for the lane of the messages of people.
    pub automation_id: Option<AutomationId>,
    /// The name of the automation.
    pub automation_name: Option<String>,
    /// The state of the automation.
    pub state: Option<AutomationState>,
    /// The inputs of the period, the newest first. Empty if the lane has `buckets`.
    pub runs: Vec<RunOutcome>,
    /// The numbers of inputs by time, the earliest first, if the lane has more than 200 inputs.
    pub buckets: Vec<TimelineBucket>,
    /// The next runs in the rest of the period, the earliest first, at most 200. For a paused automation, those that it
    /// would have if it were resumed.
    pub upcoming: Vec<UpcomingRun>,
    /// `true` if more runs follow in the period.
    pub upcoming_cut: bool,
}

/// The inputs of a part of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TimelineBucket {
    /// The beginning of the part.
    pub from: Timestamp,
    /// The end of the part.
    pub to: Timestamp,
    /// The numbers of inputs.
    pub counts: OutcomeCounts,
}
