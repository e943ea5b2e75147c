//! The changes that ordered logs hold: one log for each session, and one for each automation.
//!
//! [`Event`] is one numbered row of a log and [`Change`] is its content. `store` reads and writes the rows in a
//! format of its own, and `service` maps them to the events of the API.

use uuid::Uuid;

use crate::{
    ids::{ApprovalId, AutomationId, MessageId, RunId, SeatId, SessionId, TriggerId, WorkerId},
    outcome::Outcome,
    run::{Origin, RunStatus},
    session::SessionStatus,
    time::Timestamp,
    turn::{EntryKind, Role},
};

/// One row of the ordered log of a session or of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number in the log, from 1 and without a gap.
    pub seq: i64,
    /// The change that it logs.
    pub change: Change,
    /// When it was written.
    pub created_at: Timestamp,
}

/// A change that a log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A session changed.
    Session {
        /// The session.
        session_id: SessionId,
        /// How it changed.
        change: SessionChange,
    },
    /// A run moved to another status.
    Run {
        /// The run.
        run_id: RunId,
        /// The status, with its data.
        change: RunChange,
    },
    /// A row of the transcript was written, or written again.
    Message {
        /// The row.
        message_id: MessageId,
        /// The role of its author.
        role: Role,
        /// Its kind.
        kind: EntryKind,
        /// The seat that it is addressed to, if it is a message from one seat to another.
        to: Option<SeatId>,
    },
    /// An approval was requested, decided, or ended without a decision.
    Approval {
        /// The approval.
        approval_id: ApprovalId,
        /// The attempt whose agent requested it.
        run_id: RunId,
        /// The kind of the tool, as the agent named it.
        tool_kind: String,
        /// The line that the agent shows for the tool call.
        title: String,
        /// The state, with its data.
        change: ApprovalChange,
    },
    /// An automation changed.
    Automation {
        /// The automation.
        automation_id: AutomationId,
        /// How it changed.
        change: AutomationChange,
    },
    /// A later version wrote this event, in a kind or a form that this version cannot read. Readers skip it. It
    /// keeps its number, so that the log stays without a gap.
    Unknown {
        /// The kind, as the later version wrote it.
        kind: String,
        /// The ID of the row that the event is about.
        about: Uuid,
    },
}

/// A change of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// The session was created in this state.
    Created {
        /// Its first state.
        state: SessionStatus,
    },
    /// The session moved to this state.
    Moved {
        /// Its new state.
        state: SessionStatus,
        /// The reason, if the person gave one.
        reason: Option<String>,
    },
    /// The session got another title, or lost its title.
    Renamed {
        /// Its state, which stays.
        state: SessionStatus,
        /// The new title.
        title: Option<String>,
    },
}

impl SessionChange {
    /// The state of the session after the change.
    pub const fn state(&self) -> SessionStatus {
        match self {
            Self::Created { state } | Self::Moved { state, .. } | Self::Renamed { state, .. } => {
                *state
            }
        }
    }
}

/// A status that a run moved to, with the data of that status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunChange {
    /// The run holds its seat and waits for a worker.
    Queued {
        /// The input, if the run was created in this status.
        input: Option<RunInput>,
    },
    /// The run waits for its seat, its session or an instant.
    Deferred {
        /// The event that made it wait.
        cause: DeferCause,
    },
    /// A worker began the turn.
    Running {
        /// The number of the attempt, from 1.
        attempt: i64,
        /// The worker.
        worker_id: WorkerId,
    },
    /// The agent ended its turn.
    Succeeded {
        /// The number of the attempt, from 1.
        attempt: i64,
    },
    /// The turn failed.
    Failed {
        /// The number of the attempt, from 1.
        attempt: i64,
        /// The kind of failure or the agent's stop reason, in one word.
        reason: String,
    },
    /// The run was cancelled.
    Cancelled {
        /// The number of the attempt, from 1.
        attempt: i64,
        /// The reason, as text for people.
        reason: String,
    },
    /// The worker was lost, or gave the run back.
    Stalled {
        /// The number of the attempt, from 1.
        attempt: i64,
        /// The kind of failure, in one word.
        reason: String,
    },
    /// A policy or a precheck declined the run.
    Skipped {
        /// The reason, in the words of [`SkipReason`](crate::run::SkipReason).
        reason: String,
        /// The attempt or the occurrences that were skipped.
        skipped: Skipped,
    },
    /// Occurrences were due while no server ran, and the `catch_up` policy leaves them out.
    Missed {
        /// The reason, as text for people.
        reason: String,
        /// The occurrences.
        occurrences: Occurrences,
    },
}

impl RunChange {
    /// Returns the change for the end of an attempt.
    pub fn ended(outcome: &Outcome, attempt: i64) -> Self {
        let reason = outcome.reason().unwrap_or_default().to_owned();
        match outcome.status() {
            RunStatus::Succeeded => Self::Succeeded { attempt },
            RunStatus::Cancelled => Self::Cancelled { attempt, reason },
            RunStatus::Stalled => Self::Stalled { attempt, reason },
            _ => Self::Failed { attempt, reason },
        }
    }

    /// The status of the run after the change.
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Queued { .. } => RunStatus::Queued,
            Self::Deferred { .. } => RunStatus::Deferred,
            Self::Running { .. } => RunStatus::Running,
            Self::Succeeded { .. } => RunStatus::Succeeded,
            Self::Failed { .. } => RunStatus::Failed,
            Self::Cancelled { .. } => RunStatus::Cancelled,
            Self::Stalled { .. } => RunStatus::Stalled,
            Self::Skipped { .. } => RunStatus::Skipped,
            Self::Missed { .. } => RunStatus::Missed,
        }
    }
}

/// The input of a run that was just created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInput {
    /// Where the input came from.
    pub origin: Origin,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The automation.
    pub automation_id: Option<AutomationId>,
    /// The due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The earliest start.
    pub not_before: Option<Timestamp>,
}

/// The event that made a run wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeferCause {
    /// The run was created behind another one, or before its earliest start.
    Created(RunInput),
    /// The session was paused before the turn began.
    SessionHeld,
    /// A budget is used up.
    Budget {
        /// The reason, in one word.
        reason: String,
        /// The earliest start.
        not_before: Timestamp,
    },
}

/// The part of an automation's work that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skipped {
    /// An attempt in a session that stays.
    Attempt(i64),
    /// Occurrences that have no session.
    Occurrences(Occurrences),
}

/// Due instants of a trigger that share one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrences {
    /// The trigger.
    pub trigger_id: Option<TriggerId>,
    /// The first due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant, if there is more than one.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants.
    pub count: u64,
}

/// A state that an approval moved to, with the data of that state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalChange {
    /// The agent waits for a decision.
    Pending {
        /// The end of the wait.
        deadline_at: Timestamp,
    },
    /// A person allowed the tool call.
    Allowed {
        /// The name of the token, or of the private socket, that decided.
        decided_by: String,
    },
    /// A person denied the tool call.
    Denied {
        /// The name of the token, or of the private socket, that decided.
        decided_by: String,
    },
    /// The deadline passed without a decision, so the tool call is denied.
    Expired,
    /// The attempt ended or was cancelled first, so no decision can reach the agent.
    Void,
}

/// A change of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutomationChange {
    /// The automation was created.
    Created {
        /// Its name.
        name: String,
    },
    /// The automation was edited.
    Edited {
        /// Its name after the edit.
        name: String,
        /// The trigger that the edit added or removed, if it did no more than that.
        trigger: Option<TriggerEdit>,
    },
    /// The automation was paused, by a person or by itself.
    Paused {
        /// The reason.
        reason: String,
    },
    /// The automation was resumed.
    Resumed,
    /// The automation left its current session.
    Reset {
        /// The session that it left.
        session_id: Option<SessionId>,
    },
    /// The automation needs a person's attention.
    Attention {
        /// The text for that person.
        text: String,
    },
    /// The automation was deleted.
    Deleted,
}

/// An edit of one trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEdit {
    /// The trigger was added.
    Added(TriggerId),
    /// The trigger was removed.
    Removed(TriggerId),
}
