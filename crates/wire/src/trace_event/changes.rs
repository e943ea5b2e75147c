//! The changes inside trace events, one struct for each state or action.

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
    /// Its first state.
    pub state: SessionStatus,
}

/// The session moved to another state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionMovedChange {
    /// Its new state.
    pub state: SessionStatus,
    /// The reason, if the person gave one.
    pub reason: Option<String>,
}

/// The session got another title, or lost its title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionRenamedChange {
    /// Its state, which stays.
    pub state: SessionStatus,
    /// The new title.
    pub title: Option<String>,
}

tagged_union! {
    /// A status that a run moved to, with its data.
    RunChange, "status", "A status that a run moved to, with the data of that status." {
        /// The run holds its seat and waits for a worker.
        Queued(RunQueuedChange) = "queued",
        /// The run waits for its seat, its session or an instant.
        Deferred(RunDeferredChange) = "deferred",
        /// A worker began the turn.
        Running(RunRunningChange) = "running",
        /// The agent ended its turn.
        Succeeded(RunSucceededChange) = "succeeded",
        /// The turn failed.
        Failed(RunFailedChange) = "failed",
        /// The run was cancelled.
        Cancelled(RunCancelledChange) = "cancelled",
        /// The worker was lost, or gave the run back.
        Stalled(RunStalledChange) = "stalled",
        /// A policy or a precheck declined the run.
        Skipped(RunSkippedChange) = "skipped",
        /// Occurrences were due while no server ran.
        Missed(RunMissedChange) = "missed",
    }
}

/// The run holds its seat and waits for a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunQueuedChange {
    /// The input, if the run was created in this status. Null if the run already existed.
    pub input: Option<RunInput>,
}

/// The run waits for its seat, its session or an instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunDeferredChange {
    /// The input, if the run was created in this status. Null if the run already existed.
    pub input: Option<RunInput>,
    /// `budget` if a budget is used up.
    pub reason: Option<String>,
    /// The earliest start, if a budget is used up.
    pub not_before: Option<Timestamp>,
}

/// The input of a run that was just created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunInput {
    /// Where the input came from.
    pub origin: Origin,
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The automation.
    pub automation_id: Option<AutomationId>,
    /// The due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The earliest start.
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

/// The worker was lost, or gave the run back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunStalledChange {
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// `worker_lost` or `handed_back`.
    pub reason: String,
}

/// A policy or a precheck declined the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSkippedChange {
    /// The reason, such as `overlap` or `precheck`.
    pub reason: String,
    /// The number of the attempt, if the run keeps its session.
    pub attempt: Option<i64>,
    /// The skipped occurrences, if they have no session.
    pub occurrences: Option<DueOccurrences>,
}

/// Occurrences were due while no server ran, and the policy `catch_up` leaves them out.
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
    /// The trigger.
    pub trigger_id: Option<TriggerId>,
    /// The first due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant, if there is more than one.
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
        /// The attempt ended first.
        Void(ApprovalVoidChange) = "void",
    }
}

/// The agent waits for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPendingChange {
    /// The end of the wait.
    pub deadline_at: Timestamp,
}

/// A person allowed the tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAllowedChange {
    /// The name of the token, or of the private socket, that decided.
    pub decided_by: String,
}

/// A person denied the tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDeniedChange {
    /// The name of the token, or of the private socket, that decided.
    pub decided_by: String,
}

/// The deadline passed without a decision, so the tool call is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalExpiredChange {}

/// The attempt ended or was cancelled first, so no decision can reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalVoidChange {}

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
    /// Its name.
    pub name: String,
}

/// The automation was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationEditedChange {
    /// Its name after the edit.
    pub name: String,
    /// The trigger that was added, if the edit did no more than that.
    pub trigger_added: Option<TriggerId>,
    /// The trigger that was removed, if the edit did no more than that.
    pub trigger_removed: Option<TriggerId>,
}

/// The automation was paused, by a person or by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPausedChange {
    /// The reason.
    pub reason: String,
}

/// The automation was resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationResumedChange {}

/// The automation left its current session. Its next run creates another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationResetChange {
    /// The session that it left.
    pub session_id: Option<SessionId>,
}

/// The automation needs a person's attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationAttentionChange {
    /// The text for that person.
    pub text: String,
}

/// The automation was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationDeletedChange {}
