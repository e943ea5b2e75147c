//! The changes in ordered logs. Each session and each automation has one log.
//!
//! [`Event`] is one numbered row of a log, and [`Change`] is its content. The `store` crate reads and writes the rows
//! in a format of its own, and the `service` crate maps them to the events of the API.

use uuid::Uuid;

use crate::{
    goal::{GoalState, Step, TaskStatus},
    ids::{
        ApprovalId, AutomationId, MessageId, QuestionId, RunId, SeatId, SessionId, TaskId,
        TriggerId, WorkerId,
    },
    outcome::Outcome,
    run::{Origin, RunStatus},
    session::SessionStatus,
    time::Timestamp,
    turn::{EntryKind, Role},
};

/// One row of the ordered log of a session or of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number of the event in its log, from 1 and without gaps.
    pub seq: i64,
    /// The change.
    pub change: Change,
    /// The instant at which the row was written.
    pub created_at: Timestamp,
}

/// A change that a log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A session changed.
    Session {
        /// The session.
        session_id: SessionId,
        /// The change of the session.
        change: SessionChange,
    },
    /// A run moved to another status.
    Run {
        /// The run.
        run_id: RunId,
        /// The new status, with its data.
        change: RunChange,
    },
    /// A row of the transcript was written, or replaced by a newer version.
    Message {
        /// The row.
        message_id: MessageId,
        /// The role of its author.
        role: Role,
        /// The kind of the row.
        kind: EntryKind,
        /// The addressed seat, if the row is a message from one seat to another.
        to: Option<SeatId>,
    },
    /// An approval was requested, decided, or ended without a decision.
    Approval {
        /// The approval.
        approval_id: ApprovalId,
        /// The run whose agent sent the permission request.
        run_id: RunId,
        /// The kind of the tool, as the agent named it.
        tool_kind: String,
        /// The line that the agent shows for the tool call.
        title: String,
        /// The new state, with its data.
        change: ApprovalChange,
    },
    /// A question was asked, answered, or ended without an answer of a person.
    Question {
        /// The question.
        question_id: QuestionId,
        /// The run whose agent asked.
        run_id: RunId,
        /// The question.
        text: String,
        /// The new state, with its data.
        change: QuestionChange,
    },
    /// An automation changed.
    Automation {
        /// The automation.
        automation_id: AutomationId,
        /// The change of the automation.
        change: AutomationChange,
    },
    /// A goal moved to another state. The end of a goal also changes its session, which is an event of its own.
    Goal {
        /// The session of the goal.
        session_id: SessionId,
        /// The state of the goal after the move, with its reason.
        state: GoalState,
    },
    /// A task of a goal was created, or moved.
    Task {
        /// The task.
        task_id: TaskId,
        /// The state of the task after the move.
        change: TaskChange,
    },
    /// A later version of Matins wrote this event, in a kind or a form that this version cannot read. Readers skip
    /// the event. The event keeps its number, so that the log has no gap.
    Unknown {
        /// The kind, as the later version wrote it.
        kind: String,
        /// The ID of the row that the event is about.
        about: Uuid,
    },
}

/// The state of a task after a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    /// The key of the task.
    pub key: String,
    /// The status.
    pub status: TaskStatus,
    /// The step of a running task.
    pub step: Option<Step>,
    /// The number of rounds in which checks or the judge sent the task back.
    pub round: u32,
    /// The seat that has the turn, or gets it.
    pub seat: Option<SeatId>,
    /// The version of the plan that published the task, or with which a person last edited it.
    pub plan_version: u32,
}

/// A change of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// The session was created in this state.
    Created {
        /// The initial state of the session.
        state: SessionStatus,
    },
    /// The session moved to this state.
    Moved {
        /// The new state of the session.
        state: SessionStatus,
        /// The reason, if the person gave one.
        reason: Option<String>,
    },
    /// The session got another title, or lost its title.
    Renamed {
        /// The state of the session, which stays the same.
        state: SessionStatus,
        /// The new title. `None` if the title was removed.
        title: Option<String>,
    },
}

impl SessionChange {
    /// Returns the state of the session after the change.
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
        /// The cause of the wait.
        cause: DeferCause,
    },
    /// A worker began the turn.
    Running {
        /// The number of the attempt, from 1.
        attempt: i64,
        /// The worker.
        worker_id: WorkerId,
    },
    /// The agent ended its turn with `end_turn`.
    Succeeded {
        /// The number of the attempt, from 1.
        attempt: i64,
    },
    /// The turn failed, or could not be executed.
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
    /// The worker was lost, or stopped and requeued the input.
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
        skipped: SkippedWork,
    },
    /// Occurrences were due, did not run in time, and are not caught up.
    Missed {
        /// The reason, as text for people.
        reason: String,
        /// The occurrences.
        occurrences: Occurrences,
    },
}

impl RunChange {
    /// Returns the change for the end of an attempt.
    pub fn from_outcome(outcome: &Outcome, attempt: i64) -> Self {
        let reason = outcome.reason().unwrap_or_default().to_owned();
        match outcome.status() {
            RunStatus::Succeeded => Self::Succeeded { attempt },
            RunStatus::Cancelled => Self::Cancelled { attempt, reason },
            RunStatus::Stalled => Self::Stalled { attempt, reason },
            _ => Self::Failed { attempt, reason },
        }
    }

    /// Returns the status of the run after the change.
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
    /// The source of the input.
    pub origin: Origin,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The automation. `None` if the input is a message of a person.
    pub automation_id: Option<AutomationId>,
    /// The due instant of the occurrence.
    pub scheduled_for: Option<Timestamp>,
    /// The earliest instant at which the run may start.
    pub not_before: Option<Timestamp>,
}

/// The cause that makes a run wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeferCause {
    /// The run was created while another run had the seat, or before its earliest start.
    Created(RunInput),
    /// The session, or its goal, was paused before the turn began.
    SessionPaused,
    /// A budget is used up.
    Budget {
        /// The reason, in one word.
        reason: String,
        /// The earliest instant at which the run may start.
        not_before: Timestamp,
    },
}

/// The skipped work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedWork {
    /// An attempt in a session that still exists.
    Attempt(i64),
    /// Occurrences without a session.
    Occurrences(Occurrences),
}

/// Due instants of one trigger that share one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrences {
    /// The trigger that created the occurrence.
    pub trigger_id: Option<TriggerId>,
    /// The first due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant. `None` if there is only one.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants.
    pub count: u64,
}

/// A state that an approval moved to, with the data of that state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalChange {
    /// The agent waits for a decision.
    Pending {
        /// The instant at which the wait ends.
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

/// A state that a question moved to, with the data of that state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionChange {
    /// The question waits for a person.
    Pending {
        /// The instant at which the default counts.
        deadline_at: Timestamp,
    },
    /// A person answered the question.
    Answered {
        /// The name of the token, or of the private socket, that answered.
        answered_by: String,
    },
    /// The deadline passed without an answer.
    Expired,
    /// No answer can reach the agent any more.
    Void,
}

/// A change of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutomationChange {
    /// The automation was created.
    Created {
        /// The name of the automation.
        name: String,
    },
    /// The automation was edited.
    Edited {
        /// The name of the automation after the edit.
        name: String,
        /// The trigger that the edit added or removed. `None` if the edit changed anything else.
        trigger: Option<TriggerEdit>,
    },
    /// The automation was paused: by a person, by a budget, or by consecutive failures.
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
