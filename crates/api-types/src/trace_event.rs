//! Events that leave the process, in live traces, in feeds and in notifications.

mod changes;

pub use changes::*;
use model::{
    ApprovalId, AutomationId, MessageId, QuestionId, RunId, SeatId, SessionId, TaskId, Timestamp,
    goal::{GoalStatus, Step, TaskStatus},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Approval, GoalReason, Message, MessageKind, MessageRole, Run, Session, tagged::tagged_union,
};

tagged_union! {
    /// An event of a trace or of a notification.
    TraceEvent, "kind",
    "An event of a trace or of a notification. `kind` is the tag of the variant. A later server may send other \
     kinds and more properties: clients must ignore those." {
        /// A session changed.
        Session(TraceSession) = "session",
        /// A run moved to another status.
        Run(TraceRun) = "run",
        /// A row of a transcript was written.
        Message(TraceMessage) = "message",
        /// An approval was requested or ended.
        Approval(TraceApproval) = "approval",
        /// A question was asked or ended.
        Question(TraceQuestion) = "question",
        /// A goal moved to another state.
        Goal(TraceGoal) = "goal",
        /// A task of a goal was created or moved.
        Task(TraceTask) = "task",
        /// An automation changed.
        Automation(TraceAutomation) = "automation",
        /// A later version logged a change that this server cannot read.
        Unknown(TraceUnknown) = "unknown",
        /// A running turn wrote text.
        Delta(TraceDelta) = "delta",
        /// A snapshot of a session.
        Resync(TraceResync) = "resync",
        /// A snapshot of a feed.
        FeedResync(TraceFeedResync) = "feed_resync",
        /// The session of the trace was deleted.
        SessionDeleted(TraceSessionDeleted) = "session_deleted",
    }
}

/// A session changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceSession {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The automation that the session belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The session.
    pub session_id: SessionId,
    /// The change of the session.
    pub change: SessionChange,
}

/// A run moved to another status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceRun {
    /// The number of the event in its log, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session whose log has the event. Null for a skipped or missed occurrence, which has no session: its event
    /// is in the log of the automation.
    pub session_id: Option<SessionId>,
    /// The automation that the run belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The run.
    pub run_id: RunId,
    /// The new status, with the data of that status.
    pub change: RunChange,
}

/// A row of a transcript was written, or rewritten under the same ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceMessage {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the row was committed to the log.
    pub created_at: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// The automation that the row belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The ID of the row.
    pub message_id: MessageId,
    /// The role of the author.
    pub role: MessageRole,
    /// The kind of the row.
    pub message_kind: MessageKind,
    /// The seat that receives the row. Null if the row is not a message from one seat to another.
    pub to_seat_id: Option<SeatId>,
    /// The row as it is when the event is sent, so a row that was rewritten has its latest text. Null if the row was
    /// deleted.
    pub message: Option<Box<Message>>,
}

/// An approval was requested, decided, or ended without a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceApproval {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// The automation that the run belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The approval.
    pub approval_id: ApprovalId,
    /// The run whose agent made the request.
    pub run_id: RunId,
    /// The kind of the tool, as the agent named it.
    pub tool_kind: String,
    /// The line that the agent shows for the tool call.
    pub title: String,
    /// The new state, with the data of that state.
    pub change: ApprovalChange,
}

/// A question was asked, answered, or ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceQuestion {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// The automation that the run belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The question.
    pub question_id: QuestionId,
    /// The run whose agent asked.
    pub run_id: RunId,
    /// The text of the question.
    pub text: String,
    /// The new state, with the data of that state.
    pub change: QuestionChange,
}

/// A goal moved to another state. A goal that is over also closes its session, which has an event of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceGoal {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session of the goal.
    pub session_id: SessionId,
    /// The new state.
    pub state: GoalStatus,
    /// The reason of a goal that is paused or has failed. Null otherwise.
    pub reason: Option<GoalReason>,
    /// The cause for which the goal is stuck. Null otherwise.
    pub cause: Option<String>,
}

/// A task of a goal was created or moved. `GET /sessions/{session}/tasks` has the name of its seat, and what the task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceTask {
    /// The number of the event in the log of the session, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session of the goal.
    pub session_id: SessionId,
    /// The task.
    pub task_id: TaskId,
    /// The key of the task.
    pub key: String,
    /// The new status.
    pub status: TaskStatus,
    /// The step of a running task. Null otherwise.
    pub step: Option<Step>,
    /// The seat that has the turn, or gets it. Null if there is none.
    pub seat_id: Option<SeatId>,
    /// The number of rounds in which checks or the judge sent the task back.
    #[schema(minimum = 0)]
    pub round: u32,
    /// The version of the plan that published the task, or with which a person last edited it.
    #[schema(minimum = 0)]
    pub plan_version: u32,
}

/// An automation changed. Only feeds and notifications have these events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceAutomation {
    /// The number of the event in the log of the automation, from 1 and without a gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The automation.
    pub automation_id: AutomationId,
    /// The change of the automation.
    pub change: AutomationChange,
}

/// A later version of Matins, on the same database, logged a change that this server cannot read. Clients skip the
/// event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceUnknown {
    /// The number of the event in its log. The event keeps this number, so that the log has no gap.
    pub seq: i64,
    /// The instant at which the change was committed to the log.
    pub created_at: Timestamp,
    /// The session whose log has the event. Null if the event is in the log of an automation.
    pub session_id: Option<SessionId>,
    /// The automation that the event belongs to. Null in the trace of a session.
    pub automation_id: Option<AutomationId>,
    /// The kind of the change, as the later version named it.
    pub logged_kind: String,
}

/// A piece of text that a running turn has written. Only traces of sessions have this event. The event has no number,
/// because the log gets the whole answer when the turn ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceDelta {
    /// The run.
    pub run_id: RunId,
    /// The position of the piece in the text of the turn, in bytes.
    #[schema(minimum = 0)]
    pub position: i64,
    /// The piece.
    pub text: String,
}

/// A snapshot of a session. The snapshot replaces events that retention has removed; the trace continues after
/// `last_seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceResync {
    /// The session.
    pub session: Box<Session>,
    /// The number of the newest event of the session.
    pub last_seq: i64,
    /// The runs of the session that are not over.
    pub runs: Vec<Run>,
    /// The approvals of the session that are pending.
    pub approvals: Vec<Approval>,
}

/// A snapshot of a feed. The snapshot replaces events that retention has removed; the feed continues after `cursor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceFeedResync {
    /// The event ID after which the feed continues.
    pub cursor: String,
    /// The runs of the feed that are not over.
    pub runs: Vec<Run>,
    /// The approvals of the feed that are pending.
    pub approvals: Vec<Approval>,
}

/// The session of the trace was deleted. No event follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TraceSessionDeleted {
    /// The session.
    pub session_id: SessionId,
}
