//! Runs: one attempt each to execute one input on one seat.

use crate::{budget, ids::WorkerId, lifecycle::Lifecycle, text_enum::text_enum, time::Timestamp};

text_enum! {
    /// Where a run is in its life.
    RunStatus, "a status of a run" {
        /// Holds its seat and waits for a worker.
        Queued = "queued",
        /// Waits for its seat, for its automation's other run, or for its backoff.
        Deferred = "deferred",
        /// Handed to a worker, or as a file to an instance; its turn has not begun.
        Delivered = "delivered",
        /// Its turn is under way.
        Running = "running",
        /// The agent ended its turn.
        Succeeded = "succeeded",
        /// The turn could not be done, or ended otherwise than by `end_turn`.
        Failed = "failed",
        /// Somebody, or an overlap policy, called it off.
        Cancelled = "cancelled",
        /// Whoever executed it was lost, or handed it back.
        Stalled = "stalled",
        /// Due, but a policy said no.
        Skipped = "skipped",
        /// Due while the system was down, and not caught up.
        Missed = "missed",
    }
}

text_enum! {
    /// What moves a run from one status to another.
    RunEvent, "a move of a run" {
        /// What it waited for is free.
        Promote = "promote",
        /// A worker takes it, or a file is delivered.
        Claim = "claim",
        /// Its session is held before its turn has begun.
        Hold = "hold",
        /// Its turn begins.
        Begin = "begin",
        /// The turn's outcome is a success.
        Succeed = "succeed",
        /// It cannot be done, or was not.
        Fail = "fail",
        /// It is called off.
        Cancel = "cancel",
        /// Whoever executed it is lost, or hands it back.
        Stall = "stall",
        /// Its precheck declines it.
        Decline = "decline",
    }
}

impl Lifecycle for RunStatus {
    type Event = RunEvent;

    const WHAT: &'static str = "run";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [RunEvent] = RunEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Queued, Self::Deferred, Self::Skipped, Self::Missed];

    fn after(self, event: RunEvent) -> Option<Self> {
        match (self, event) {
            (Self::Deferred, RunEvent::Promote) => Some(Self::Queued),
            (Self::Queued, RunEvent::Claim) => Some(Self::Delivered),
            (Self::Queued | Self::Delivered, RunEvent::Hold) => Some(Self::Deferred),
            (Self::Delivered, RunEvent::Begin) => Some(Self::Running),
            (Self::Running, RunEvent::Succeed) => Some(Self::Succeeded),
            (Self::Queued | Self::Deferred | Self::Delivered | Self::Running, RunEvent::Fail) => {
                Some(Self::Failed)
            }
            (Self::Queued | Self::Deferred | Self::Delivered | Self::Running, RunEvent::Cancel) => {
                Some(Self::Cancelled)
            }
            (Self::Delivered | Self::Running, RunEvent::Stall) => Some(Self::Stalled),
            (Self::Delivered, RunEvent::Decline) => Some(Self::Skipped),
            _ => None,
        }
    }
}

impl RunStatus {
    /// Whether the run holds its seat. The unique index `agent_runs_one_active_per_seat` says the
    /// same.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Queued | Self::Delivered | Self::Running)
    }

    /// Whether the run is over.
    pub const fn is_over(self) -> bool {
        !self.is_active() && !matches!(self, Self::Deferred)
    }
}

/// The state of a run, with the data that this state alone has.
///
/// Tables and the API hold it flat, as a status and columns that may be null; this type says which of them belong
/// together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// The run waits until it may have its seat.
    Deferred(Deferral),
    /// The run holds its seat and waits for a worker.
    Queued,
    /// A worker has claimed the run; its turn has not begun.
    Delivered {
        /// The worker that claimed it.
        worker_id: WorkerId,
        /// The instant at which its cancellation was requested.
        cancel_requested_at: Option<Timestamp>,
    },
    /// The turn is under way.
    Running {
        /// The worker that executes it.
        worker_id: WorkerId,
        /// The instant at which the turn began.
        started_at: Timestamp,
        /// The instant at which its cancellation was requested.
        cancel_requested_at: Option<Timestamp>,
    },
    /// The agent ended its turn.
    Succeeded {
        /// The facts that all ends share.
        end: RunEnd,
        /// The reason that the agent gave for the end of the turn.
        stop_reason: Option<String>,
    },
    /// The turn could not be done, or ended otherwise than by `end_turn`.
    Failed {
        /// The facts that all ends share.
        end: RunEnd,
        /// The word of a [`FailureKind`](crate::outcome::FailureKind) or of a
        /// [`StopReason`](crate::outcome::StopReason).
        reason: String,
        /// The reason that the agent gave for the end of the turn, if it gave one.
        stop_reason: Option<String>,
    },
    /// A person or an overlap policy cancelled it.
    Cancelled {
        /// The facts that all ends share.
        end: RunEnd,
        /// The reason of the cancellation.
        reason: String,
    },
    /// Its worker was lost, or requeued its input.
    Stalled {
        /// The facts that all ends share.
        end: RunEnd,
        /// The word of a [`FailureKind`](crate::outcome::FailureKind).
        reason: String,
    },
    /// A policy or the precheck declined the occurrence.
    Skipped {
        /// The facts that all ends share.
        end: RunEnd,
        /// The word of a [`SkipReason`].
        reason: String,
    },
    /// The occurrences passed while the system was down, and were not caught up.
    Missed {
        /// The instant at which the range was recorded.
        ended_at: Timestamp,
        /// The reason for which the occurrences did not run.
        reason: String,
        /// The last instant of the range. `None` if the range is one instant.
        until: Option<Timestamp>,
        /// The number of instants in the range.
        occurrences: i64,
    },
}

/// The reason for which a run waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deferral {
    /// It waits for its seat, for its session, or for another run of its automation.
    Turn,
    /// It is a retry, and its backoff ends at this instant.
    Backoff(Timestamp),
    /// A budget is used up.
    Budget {
        /// The instant at which the budget is checked again.
        until: Timestamp,
        /// The budget and its limit, as a text for people.
        message: String,
    },
}

impl Deferral {
    /// Returns the earliest instant at which the run may start. `None`: as soon as it may have its seat.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Turn => None,
            Self::Backoff(until) | Self::Budget { until, .. } => Some(*until),
        }
    }
}

/// The facts that all ends of runs share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The instant of the end.
    pub ended_at: Timestamp,
    /// The worker that had claimed the run last. `None` if it ended while it waited.
    pub worker_id: Option<WorkerId>,
    /// The instant at which the turn began. `None` if it had not begun.
    pub started_at: Option<Timestamp>,
    /// The instant at which its cancellation was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// A short text for people.
    pub message: Option<String>,
    /// Observations about the turn.
    pub flags: RunFlags,
}

/// Observations about a turn, beside its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFlags {
    /// `true` if the agent's answer has no text.
    pub empty_answer: bool,
    /// The number of permission requests that were denied.
    pub permissions_denied: u32,
    /// The number of tool calls that the agent made.
    pub tool_calls: u32,
    /// `true` if the answer was longer than Matins keeps.
    pub answer_cut: bool,
    /// `true` if the precheck ended without an answer, so that the turn was taken.
    pub precheck_unclear: bool,
}

impl RunState {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Deferred(_) => RunStatus::Deferred,
            Self::Queued => RunStatus::Queued,
            Self::Delivered { .. } => RunStatus::Delivered,
            Self::Running { .. } => RunStatus::Running,
            Self::Succeeded { .. } => RunStatus::Succeeded,
            Self::Failed { .. } => RunStatus::Failed,
            Self::Cancelled { .. } => RunStatus::Cancelled,
            Self::Stalled { .. } => RunStatus::Stalled,
            Self::Skipped { .. } => RunStatus::Skipped,
            Self::Missed { .. } => RunStatus::Missed,
        }
    }

    /// Returns the facts that all ends share. `None` if the run is not over, or was missed.
    pub const fn end(&self) -> Option<&RunEnd> {
        match self {
            Self::Succeeded { end, .. }
            | Self::Failed { end, .. }
            | Self::Cancelled { end, .. }
            | Self::Stalled { end, .. }
            | Self::Skipped { end, .. } => Some(end),
            Self::Deferred(_)
            | Self::Queued
            | Self::Delivered { .. }
            | Self::Running { .. }
            | Self::Missed { .. } => None,
        }
    }

    /// Returns the earliest instant at which the run may start. `None` if it does not wait for an instant.
    pub const fn not_before(&self) -> Option<Timestamp> {
        match self {
            Self::Deferred(deferral) => deferral.until(),
            _ => None,
        }
    }

    /// Returns the number of due instants that the run stands for: one, unless it is a missed range.
    pub const fn occurrences(&self) -> i64 {
        match self {
            Self::Missed { occurrences, .. } => *occurrences,
            _ => 1,
        }
    }

    /// Returns the worker that has the run, or had it at its end.
    pub fn worker_id(&self) -> Option<&WorkerId> {
        match self {
            Self::Delivered { worker_id, .. } | Self::Running { worker_id, .. } => Some(worker_id),
            state => state.end()?.worker_id.as_ref(),
        }
    }

    /// Returns the instant at which the turn began.
    pub fn started_at(&self) -> Option<Timestamp> {
        match self {
            Self::Running { started_at, .. } => Some(*started_at),
            state => state.end()?.started_at,
        }
    }

    /// Returns the instant at which its cancellation was requested.
    pub fn cancel_requested_at(&self) -> Option<Timestamp> {
        match self {
            Self::Delivered {
                cancel_requested_at,
                ..
            }
            | Self::Running {
                cancel_requested_at,
                ..
            } => *cancel_requested_at,
            state => state.end()?.cancel_requested_at,
        }
    }

    /// Returns the instant of the end.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Missed { ended_at, .. } => Some(*ended_at),
            state => Some(state.end()?.ended_at),
        }
    }

    /// Returns the short text for people. `None` if there is nothing to say.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Deferred(Deferral::Budget { message, .. }) => Some(message),
            state => state.end()?.message.as_deref(),
        }
    }

    /// Returns the observations about the turn. They are empty until the run is over.
    pub fn flags(&self) -> RunFlags {
        self.end().map(|end| end.flags).unwrap_or_default()
    }

    /// Returns the reason that the agent gave for the end of the turn.
    pub fn stop_reason(&self) -> Option<&str> {
        match self {
            Self::Succeeded { stop_reason, .. } | Self::Failed { stop_reason, .. } => {
                stop_reason.as_deref()
            }
            _ => None,
        }
    }

    /// Returns the reason of an end, or of a wait for a budget, in one word. `None` if the run succeeded, or waits
    /// for something else.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed { reason, .. }
            | Self::Cancelled { reason, .. }
            | Self::Stalled { reason, .. }
            | Self::Skipped { reason, .. }
            | Self::Missed { reason, .. } => Some(reason),
            Self::Deferred(Deferral::Budget { .. }) => Some(budget::REASON),
            Self::Deferred(Deferral::Turn | Deferral::Backoff(_))
            | Self::Queued
            | Self::Delivered { .. }
            | Self::Running { .. }
            | Self::Succeeded { .. } => None,
        }
    }
}

text_enum! {
    /// Where an input came from.
    Origin, "an origin of an input" {
        /// A person's words.
        Person = "person",
        /// A due instant of a trigger, or a fire on demand.
        Occurrence = "occurrence",
        /// A task of a goal.
        Task = "task",
        /// A message of another agent.
        Message = "message",
    }
}

impl Origin {
    /// The order in which waiting inputs are taken up: people first.
    pub const fn priority(self) -> i64 {
        match self {
            Self::Person => 0,
            Self::Occurrence | Self::Task | Self::Message => 1,
        }
    }
}

text_enum! {
    /// Why an occurrence did not become a run.
    SkipReason, "a reason for a skipped occurrence" {
        /// An earlier run of the automation was still there.
        Overlap = "overlap",
        /// As many runs of the automation waited as may.
        QueueFull = "queue full",
        /// The session to which the automation is bound takes no more inputs.
        SessionClosed = "session closed",
        /// It fell into quiet hours.
        QuietHours = "quiet hours",
        /// The automation was paused when a webhook arrived.
        Paused = "paused",
        /// The command that is asked before the model declined.
        Precheck = "precheck",
    }
}
