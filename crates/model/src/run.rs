//! Runs: a run is one attempt to execute one input on one seat.
//!
//! [`RunStatus`] is the state machine, and [`RunState`] is a state with its data. **Invariant:** at most one run of a
//! seat is [active](RunStatus::is_active).

use crate::{budget, ids::WorkerId, lifecycle::Lifecycle, text_enum::text_enum, time::Timestamp};

/// The reason of a queued run that waits for a server which has the directory of its session.
pub const DIRECTORY_NOT_HERE: &str = "directory not here";

text_enum! {
    /// The status of a run.
    RunStatus, "a status of a run" {
        /// The run holds its seat and waits for a worker.
        Queued = "queued",
        /// The run waits for its seat, its session, another run of its automation, the end of a backoff, or a budget.
        Deferred = "deferred",
        /// A worker has claimed the run, or its trigger file waits on its instance. The turn has not begun.
        Delivered = "delivered",
        /// The turn is under way.
        Running = "running",
        /// The agent ended its turn with `end_turn`.
        Succeeded = "succeeded",
        /// The turn could not be executed, or the agent ended it with another stop reason than `end_turn`.
        Failed = "failed",
        /// A person or an overlap policy cancelled the run.
        Cancelled = "cancelled",
        /// The worker was lost, or stopped and requeued the input.
        Stalled = "stalled",
        /// The occurrence was due, and a policy or the precheck declined it.
        Skipped = "skipped",
        /// The occurrence was due, did not run in time, and is not caught up.
        Missed = "missed",
    }
}

text_enum! {
    /// An event that moves a run from one status to another.
    RunEvent, "a move of a run" {
        /// The seat is free, and the wait of the run is over.
        Promote = "promote",
        /// A worker claims the run.
        Claim = "claim",
        /// The run has to wait before its turn begins: its session is paused, or a budget is used up.
        Hold = "hold",
        /// The turn begins.
        Begin = "begin",
        /// The agent ends its turn with `end_turn`.
        Succeed = "succeed",
        /// The turn cannot be executed, or ends with another stop reason.
        Fail = "fail",
        /// A person or an overlap policy cancels the run.
        Cancel = "cancel",
        /// The worker is lost, or stops and requeues the input.
        Stall = "stall",
        /// The precheck declines the run.
        Decline = "decline",
    }
}

impl Lifecycle for RunStatus {
    type Event = RunEvent;

    const WHAT: &'static str = "run";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [RunEvent] = RunEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Queued, Self::Deferred, Self::Skipped, Self::Missed];

    fn next_state(self, event: RunEvent) -> Option<Self> {
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
    /// Returns `true` if the run holds its seat. The unique index `agent_runs_one_active_per_seat` has the same list
    /// of statuses, so a change here needs a migration.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Queued | Self::Delivered | Self::Running)
    }

    /// Returns `true` if the run is over.
    pub const fn is_over(self) -> bool {
        !self.is_active() && !matches!(self, Self::Deferred)
    }

    /// Returns `true` if a person may retry the run, because its turn was or should have been taken and has no success.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Stalled)
    }
}

/// The state of a run, with the data that this state alone has.
///
/// Tables and the API store the state flat, as a status and columns that may be null. This type defines which of
/// these columns belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// The run waits until it may have its seat.
    Deferred(Deferral),
    /// The run holds its seat and waits for a worker.
    Queued {
        /// A short text about the directory of the session, if a server without that directory has refused the run.
        missing_directory: Option<String>,
    },
    /// A worker has claimed the run, or its trigger file waits on its instance. The turn has not begun.
    Delivered {
        /// The worker that claimed the run, or the one that stands for its trigger file.
        worker_id: WorkerId,
        /// The instant at which the cancellation of the run was requested.
        cancel_requested_at: Option<Timestamp>,
    },
    /// The turn is under way.
    Running {
        /// The worker that executes the run.
        worker_id: WorkerId,
        /// The instant at which the turn began.
        started_at: Timestamp,
        /// The instant at which the cancellation of the run was requested.
        cancel_requested_at: Option<Timestamp>,
    },
    /// The agent ended its turn with `end_turn`.
    Succeeded {
        /// The facts that all ends share.
        end: RunEnd,
        /// The reason that the agent gave for the end of the turn.
        stop_reason: Option<String>,
    },
    /// The turn could not be executed, or the agent ended it with another stop reason than `end_turn`.
    Failed {
        /// The facts that all ends share.
        end: RunEnd,
        /// The word of a [`FailureKind`](crate::outcome::FailureKind) or of a
        /// [`StopReason`](crate::outcome::StopReason).
        reason: String,
        /// The reason that the agent gave for the end of the turn, if it gave one.
        stop_reason: Option<String>,
    },
    /// A person or an overlap policy cancelled the run.
    Cancelled {
        /// The facts that all ends share.
        end: RunEnd,
        /// The reason of the cancellation.
        reason: String,
    },
    /// The worker was lost, or stopped and requeued the input.
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
    /// The occurrences were due, did not run in time, and are not caught up.
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
    /// The run waits for its seat, for its session, or for another run of its automation.
    Turn,
    /// The run is a retry, and its backoff ends at this instant.
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
    /// Returns the earliest instant at which the run may start. Returns `None` if the run may start as soon as it
    /// gets its seat.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Turn => None,
            Self::Backoff(until) | Self::Budget { until, .. } => Some(*until),
        }
    }
}

/// The facts that the ends of all runs share, except of missed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The instant of the end.
    pub ended_at: Timestamp,
    /// The worker that had claimed the run last. `None` if the run ended while it waited.
    pub worker_id: Option<WorkerId>,
    /// The instant at which the turn began. `None` if the run ended before its turn.
    pub started_at: Option<Timestamp>,
    /// The instant at which the cancellation of the run was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// A short text about the reason, for people.
    pub message: Option<String>,
    /// Observations about the turn.
    pub flags: RunFlags,
}

/// Observations about a turn, beside its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFlags {
    /// `true` if the answer of the agent has no text.
    pub empty_answer: bool,
    /// The number of permission requests that were denied.
    pub permissions_denied: u32,
    /// The number of tool calls that the agent made.
    pub tool_calls: u32,
    /// `true` if the answer was too long to be stored in full.
    pub answer_cut: bool,
    /// `true` if the precheck gave no clear answer, so that the turn ran.
    pub precheck_unclear: bool,
}

impl RunState {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Deferred(_) => RunStatus::Deferred,
            Self::Queued { .. } => RunStatus::Queued,
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

    /// Returns the facts about the end. Returns `None` if the run is not over, or was missed.
    pub const fn end(&self) -> Option<&RunEnd> {
        match self {
            Self::Succeeded { end, .. }
            | Self::Failed { end, .. }
            | Self::Cancelled { end, .. }
            | Self::Stalled { end, .. }
            | Self::Skipped { end, .. } => Some(end),
            Self::Deferred(_)
            | Self::Queued { .. }
            | Self::Delivered { .. }
            | Self::Running { .. }
            | Self::Missed { .. } => None,
        }
    }

    /// Returns the earliest instant at which the run may start. Returns `None` if the run does not wait for an
    /// instant.
    pub const fn not_before(&self) -> Option<Timestamp> {
        match self {
            Self::Deferred(deferral) => deferral.until(),
            _ => None,
        }
    }

    /// Returns the number of due instants that the run stands for: one, unless the run is a missed range.
    pub const fn occurrences(&self) -> i64 {
        match self {
            Self::Missed { occurrences, .. } => *occurrences,
            _ => 1,
        }
    }

    /// Returns `true` if this worker has claimed the run, and the turn has not begun.
    pub fn is_claimed_by(&self, worker: &WorkerId) -> bool {
        matches!(self, Self::Delivered { worker_id, .. } if worker_id == worker)
    }

    /// Returns `true` if this worker has begun the turn of the run, and the run is not over.
    pub fn is_taken_by(&self, worker: &WorkerId) -> bool {
        matches!(self, Self::Running { worker_id, .. } if worker_id == worker)
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

    /// Returns the instant at which the cancellation of the run was requested.
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

    /// Returns the short text for people. Returns `None` if the run has no text.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Deferred(Deferral::Budget { message, .. }) => Some(message),
            Self::Queued { missing_directory } => missing_directory.as_deref(),
            state => state.end()?.message.as_deref(),
        }
    }

    /// Returns the observations about the turn, which are empty until the run is over.
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

    /// Returns the reason of an end, or of a wait for a budget or a directory, in a few words. `None` if the run
    /// succeeded, or waits for something else.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed { reason, .. }
            | Self::Cancelled { reason, .. }
            | Self::Stalled { reason, .. }
            | Self::Skipped { reason, .. }
            | Self::Missed { reason, .. } => Some(reason),
            Self::Deferred(Deferral::Budget { .. }) => Some(budget::BUDGET_REASON),
            Self::Queued {
                missing_directory: Some(_),
            } => Some(DIRECTORY_NOT_HERE),
            Self::Deferred(Deferral::Turn | Deferral::Backoff(_))
            | Self::Queued { .. }
            | Self::Delivered { .. }
            | Self::Running { .. }
            | Self::Succeeded { .. } => None,
        }
    }
}

text_enum! {
    /// The source of an input.
    Origin, "an origin of an input" {
        /// A message of a person, or the answer to a question.
        Person = "person",
        /// A due instant of a trigger, a webhook, or a person's request to run the automation now.
        Occurrence = "occurrence",
        /// A task of a goal.
        Task = "task",
        /// A message of another agent.
        Message = "message",
    }
}

text_enum! {
    /// The event behind an input, as people know it: an [`Origin`] with the kind of its trigger or of its chat.
    RunSource, "a source of a run" {
        /// A due instant of a schedule.
        Schedule = "schedule",
        /// A person's or a program's request to run the automation now.
        OnDemand = "on_demand",
        /// A request to the webhook of the automation.
        Webhook = "webhook",
        /// A message of a person.
        Person = "person",
        /// A message of a person in an external chat, such as Slack.
        Channel = "channel",
        /// A task of a goal.
        Task = "task",
        /// A message of another agent.
        Message = "message",
    }
}

impl RunSource {
    /// Returns the source of an input. `trigger_kind` is the word for the kind of the trigger, and `in_channel` is
    /// `true` if the session belongs to an external chat.
    pub fn of(origin: Origin, trigger_kind: Option<&str>, in_channel: bool) -> Self {
        match (origin, trigger_kind) {
            (Origin::Occurrence, Some("manual")) => Self::OnDemand,
            (Origin::Occurrence, Some("webhook")) => Self::Webhook,
            (Origin::Occurrence, _) => Self::Schedule,
            (Origin::Person, _) if in_channel => Self::Channel,
            (Origin::Person, _) => Self::Person,
            (Origin::Task, _) => Self::Task,
            (Origin::Message, _) => Self::Message,
        }
    }
}

impl Origin {
    /// Returns the rank of waiting inputs: inputs of people (0) start first, then occurrences (1), then those of agents (2).
    pub const fn priority(self) -> i64 {
        match self {
            Self::Person => 0,
            Self::Occurrence => 1,
            Self::Task | Self::Message => 2,
        }
    }
}

text_enum! {
    /// The reason for which an occurrence did not become a run, or its run did not begin. Rows, events and the API
    /// carry the word as text, so a new reason needs no migration.
    SkipReason, "a reason for a skipped occurrence" {
        /// An earlier run of the automation was not over.
        Overlap = "overlap",
        /// The number of waiting runs of the automation had reached `queue_limit`.
        QueueFull = "queue full",
        /// The session to which the automation is bound is closed or was deleted.
        SessionClosed = "session closed",
        /// The occurrence fell into quiet hours.
        QuietHours = "quiet hours",
        /// The automation was paused when a webhook arrived.
        Paused = "paused",
        /// The precheck declined the run.
        Precheck = "precheck",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_tells_kind_of_trigger_and_chat() {
        for (origin, kind, in_channel, source) in [
            (Origin::Occurrence, Some("cron"), false, RunSource::Schedule),
            (Origin::Occurrence, Some("at"), true, RunSource::Schedule),
            (
                Origin::Occurrence,
                Some("manual"),
                false,
                RunSource::OnDemand,
            ),
            (
                Origin::Occurrence,
                Some("webhook"),
                true,
                RunSource::Webhook,
            ),
            (Origin::Person, None, false, RunSource::Person),
            (Origin::Person, None, true, RunSource::Channel),
            (Origin::Task, None, true, RunSource::Task),
            (Origin::Message, None, true, RunSource::Message),
        ] {
            assert_eq!(RunSource::of(origin, kind, in_channel), source);
        }
    }
}
