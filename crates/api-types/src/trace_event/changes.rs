//! The changes inside trace events: one struct for each state or action.

use model::{
    AutomationId, SessionId, Timestamp, TriggerId, WorkerId, run::Origin, session::SessionStatus,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tagged::tagged_union;

tagged_union! {
    /// A change of a session.
    SessionChange, "action", "A change of a session." {
        /// The session was created.
        Created(SessionCreatedChange) = "created",
        /// The session moved to another state.
        Moved(SessionMovedChange) = "moved",
        /// The session got another title.
        Renamed(SessionRenamedChange) = "renamed",
    }
}

/// The session was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCreatedChange {
    /// The first state of the session.
    pub state: SessionStatus,
}

/// The session moved to another state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionMovedChange {
    /// The new state.
    pub state: SessionStatus,
    /// The reason that the person gave. Null if there is none.
    pub reason: Option<String>,
}

/// The session got another title, or lost its title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionRenamedChange {
    /// The state of the session, which stays.
    pub state: SessionStatus,
    /// The new title. Null if the session has lost its title.
    pub title: Option<String>,
}

tagged_union! {
    /// A status that a run moved to, with its data.
    RunChange, "status", "A status that a run moved to, with the data of that status." {
        /// The run reserves its seat and waits for a worker.
        Queued(RunQueuedChange) = "queued",
        /// The run waits for its seat, its session, a budget or an instant.
        Deferred(RunDeferredChange) = "deferred",
        /// A worker began the turn.
        Running(RunRunningChange) = "running",
        /// The agent ended its turn.
        Succeeded(RunSucceededChange) = "succeeded",
        /// The turn failed.
        Failed(RunFailedChange) = "failed",
        /// The run was cancelled.
        Cancelled(RunCancelledChange) = "cancelled",
        /// The worker was lost, or requeued the run.
        Stalled(RunStalledChange) = "stalled",
        /// A policy or a precheck declined the run.
        Skipped(RunSkippedChange) = "skipped",
        /// Due instants were not handled in time, and no run makes up for them.
        Missed(RunMissedChange) = "missed",
    }
}

/// The run reserves its seat and waits for a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunQueuedChange {
    /// The input, if the run was created in this status. Null if the run already existed.
    pub input: Option<RunInput>,
}

/// The run waits for its seat, its session, a budget or an instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunDeferredChange {
    /// The input, if the run was created in this status. Null if the run already existed.
    pub input: Option<RunInput>,
    /// `budget` if a budget is used up. Null in all other cases.
    pub reason: Option<String>,
    /// The instant at which the budget is available again. Null if no budget is used up.
    pub not_before: Option<Timestamp>,
}

/// The input of a run that was just created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunInput {
    /// The source of the input.
    pub origin: Origin,
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The automation. Null if a person sent the input.
    pub automation_id: Option<AutomationId>,
    /// The due instant of the occurrence. Null if the run is not for an occurrence.
    pub scheduled_for: Option<Timestamp>,
    /// The earliest instant at which the run may start. Null if the run may start at once.
    pub not_before: Option<Timestamp>,
}

/// A worker began the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRunningChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The worker.
    pub worker_id: WorkerId,
}

/// The agent ended its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSucceededChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
}

/// The turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunFailedChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The kind of failure or the agent's stop reason, in one word such as `timeout` or `refusal`.
    pub reason: String,
}

/// The run was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCancelledChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The reason, as text for people.
    pub reason: String,
}

/// The worker was lost, or requeued the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunStalledChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// `worker_lost`, or `handed_back` if the worker requeued the run.
    pub reason: String,
}

/// A policy or a precheck declined the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSkippedChange {
    /// The reason in one word, such as `overlap` or `precheck`.
    pub reason: String,
    /// The number of the attempt, if the run keeps its session. Null in all other cases.
    pub attempt: Option<i64>,
    /// The skipped occurrences, if they have no session. Null in all other cases.
    pub occurrences: Option<DueOccurrences>,
}

/// Due instants were not handled in time, and no run makes up for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunMissedChange {
    /// The reason, as text for people.
    pub reason: String,
    /// The missed occurrences.
    pub occurrences: DueOccurrences,
}

/// Due instants of a trigger that share one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DueOccurrences {
    /// The trigger. Null if there is none.
    pub trigger_id: Option<TriggerId>,
    /// The first due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant. Null if there is only one.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants.
    #[schema(minimum = 0)]
    pub count: u64,
}

tagged_union! {
    /// A state that an approval moved to, with its data.
    ApprovalChange, "state", "A state that an approval moved to, with the data of that state." {
        /// The agent waits for a decision.
        Pending(ApprovalPendingChange) = "pending",
        /// A person allowed the tool call.
        Allowed(ApprovalAllowedChange) = "allowed",
        /// A person denied the tool call.
        Denied(ApprovalDeniedChange) = "denied",
        /// The deadline passed without a decision.
        Expired(ApprovalExpiredChange) = "expired",
        /// The attempt ended or was cancelled before a decision.
        Void(ApprovalVoidChange) = "void",
    }
}

/// The agent waits for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPendingChange {
    /// The instant at which the approval expires.
    pub deadline_at: Timestamp,
}

/// A person allowed the tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAllowedChange {
    /// The name of the token that decided, or `socket` for the private socket.
    pub decided_by: String,
}

/// A person denied the tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDeniedChange {
    /// The name of the token that decided, or `socket` for the private socket.
    pub decided_by: String,
}

/// The deadline passed without a decision, so the tool call is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalExpiredChange {}

/// The attempt ended or was cancelled before a decision, so no decision can reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalVoidChange {}

tagged_union! {
    /// A state that a question moved to, with its data.
    QuestionChange, "state", "A state that a question moved to, with the data of that state." {
        /// The question waits for a person.
        Pending(QuestionPendingChange) = "pending",
        /// A person answered the question.
        Answered(QuestionAnsweredChange) = "answered",
        /// The deadline passed without an answer.
        Expired(QuestionExpiredChange) = "expired",
        /// No answer can reach the agent.
        Void(QuestionVoidChange) = "void",
    }
}

/// The question waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionPendingChange {
    /// The instant at which the default counts.
    pub deadline_at: Timestamp,
}

/// A person answered the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionAnsweredChange {
    /// The name of the token that answered, or `socket` for the private socket.
    pub answered_by: String,
}

/// The deadline passed without an answer, so the default counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionExpiredChange {}

/// The session was closed, or the turn that waited ended, so no answer can reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionVoidChange {}

tagged_union! {
    /// A change of an automation.
    AutomationChange, "action", "A change of an automation." {
        /// The automation was created.
        Created(AutomationCreatedChange) = "created",
        /// The automation was edited.
        Edited(AutomationEditedChange) = "edited",
        /// The automation was paused.
        Paused(AutomationPausedChange) = "paused",
        /// The automation was resumed.
        Resumed(AutomationResumedChange) = "resumed",
        /// The automation left its current session.
        Reset(AutomationResetChange) = "reset",
        /// The automation needs a person's attention.
        Attention(AutomationAttentionChange) = "attention",
        /// The automation was deleted.
        Deleted(AutomationDeletedChange) = "deleted",
    }
}

/// The automation was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationCreatedChange {
    /// The name of the automation.
    pub name: String,
}

/// The automation was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationEditedChange {
    /// The name of the automation after the edit.
    pub name: String,
    /// The added trigger, if the edit did nothing else. Null in all other cases.
    pub trigger_added: Option<TriggerId>,
    /// The removed trigger, if the edit did nothing else. Null in all other cases.
    pub trigger_removed: Option<TriggerId>,
}

/// The automation was paused, by a person or by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPausedChange {
    /// The reason for the pause.
    pub reason: String,
}

/// The automation was resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationResumedChange {}

/// The automation left its current session. The next run creates another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationResetChange {
    /// The session that the automation left. Null if the automation had none.
    pub session_id: Option<SessionId>,
}

/// The automation needs a person's attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationAttentionChange {
    /// The problem, as text for a person.
    pub text: String,
}

/// The automation was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationDeletedChange {}
