//! Sessions: their kinds and types, their state machine, and the admission of inputs.

use crate::{lifecycle::Lifecycle, text_enum::text_enum};

text_enum! {
    /// The purpose of a session.
    SessionKind, "a kind of session" {
        /// A conversation with a person.
        Interactive = "interactive",
        /// The turns of an automation.
        Automation = "automation",
        /// The work of several agents, each on a seat of its own.
        Background = "background",
    }
}

text_enum! {
    /// The source of a session, by which lists filter.
    SessionType, "a type of session" {
        /// A person created the session. Lists show only this type by default.
        Regular = "regular",
        /// The session belongs to a thread of a Slack channel.
        ChannelSlack = "channel_slack",
        /// An automation created the session.
        ScheduleCron = "schedule_cron",
    }
}

text_enum! {
    /// The state of a session, without its data.
    SessionStatus, "a state of a session" {
        /// The session is being prepared, and its inputs wait.
        Draft = "draft",
        /// The session takes turns.
        Active = "active",
        /// A person paused the session, and its inputs wait.
        Paused = "paused",
        /// The work is complete. The session takes no more inputs.
        Done = "done",
        /// The work cannot be done. The session takes no more inputs.
        Failed = "failed",
        /// The session is archived, and takes no more inputs.
        Archived = "archived",
    }
}

text_enum! {
    /// An event that moves a session from one state to another.
    SessionEvent, "a move of a session" {
        /// A person activates a draft.
        Enable = "enable",
        /// A person pauses the session.
        Pause = "pause",
        /// A person resumes the session.
        Resume = "resume",
        /// A person marks the work as complete.
        Complete = "complete",
        /// A person marks the work as failed.
        Fail = "fail",
        /// A person archives the session.
        Archive = "archive",
    }
}

/// The state of a session, with the data that this state alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// The session is being prepared, and its inputs wait.
    Draft,
    /// The session takes turns.
    Active {
        /// The reason that a person gave for resuming the session. `None` if the person gave none.
        reason: Option<String>,
    },
    /// A person paused the session, and its inputs wait.
    Paused {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// The work is complete. The session takes no more inputs.
    Done {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// The work cannot be done. The session takes no more inputs.
    Failed {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// The session is archived, and takes no more inputs.
    Archived {
        /// The reason that the person gave.
        reason: Option<String>,
    },
}

impl SessionState {
    /// Returns the state with this status and the reason that a person gave for it. A draft has no reason, so `new`
    /// drops it.
    pub fn new(status: SessionStatus, reason: Option<String>) -> Self {
        match status {
            SessionStatus::Draft => Self::Draft,
            SessionStatus::Active => Self::Active { reason },
            SessionStatus::Paused => Self::Paused { reason },
            SessionStatus::Done => Self::Done { reason },
            SessionStatus::Failed => Self::Failed { reason },
            SessionStatus::Archived => Self::Archived { reason },
        }
    }

    /// Returns the status: the state without its data.
    pub const fn status(&self) -> SessionStatus {
        match self {
            Self::Draft => SessionStatus::Draft,
            Self::Active { .. } => SessionStatus::Active,
            Self::Paused { .. } => SessionStatus::Paused,
            Self::Done { .. } => SessionStatus::Done,
            Self::Failed { .. } => SessionStatus::Failed,
            Self::Archived { .. } => SessionStatus::Archived,
        }
    }

    /// Returns the reason that a person gave for the current state.
    pub fn into_reason(self) -> Option<String> {
        match self {
            Self::Draft => None,
            Self::Active { reason }
            | Self::Paused { reason }
            | Self::Done { reason }
            | Self::Failed { reason }
            | Self::Archived { reason } => reason,
        }
    }
}

impl Lifecycle for SessionStatus {
    type Event = SessionEvent;

    const WHAT: &'static str = "session";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [SessionEvent] = SessionEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Draft, Self::Active];

    fn next_state(self, event: SessionEvent) -> Option<Self> {
        match (self, event) {
            (Self::Draft, SessionEvent::Enable) | (Self::Paused, SessionEvent::Resume) => {
                Some(Self::Active)
            }
            (Self::Active, SessionEvent::Pause) => Some(Self::Paused),
            (Self::Active, SessionEvent::Complete) => Some(Self::Done),
            (Self::Active, SessionEvent::Fail) => Some(Self::Failed),
            (Self::Done | Self::Failed, SessionEvent::Archive) => Some(Self::Archived),
            _ => None,
        }
    }
}

/// The decision of a session about a new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A turn of the input may start.
    Start,
    /// The input waits until the session is active.
    Wait,
    /// The session is closed and refuses the input.
    Refuse,
}

impl SessionStatus {
    /// Returns the decision about an input that arrives in this state.
    pub const fn admission(self) -> Admission {
        match self {
            Self::Active => Admission::Start,
            Self::Draft | Self::Paused => Admission::Wait,
            Self::Done | Self::Failed | Self::Archived => Admission::Refuse,
        }
    }
}
