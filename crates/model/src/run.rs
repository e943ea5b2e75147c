//! Runs: one attempt each to execute one input on one seat.

use crate::{lifecycle::Lifecycle, text_enum::text_enum};

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
