//! Sessions: where they come from, and how they live and end.

use crate::{lifecycle::Lifecycle, text_enum::text_enum};

text_enum! {
    /// What a session is for.
    SessionKind, "a kind of session" {
        /// A conversation with people.
        Interactive = "interactive",
        /// The turns of an automation.
        Automation = "automation",
        /// A goal worked on by several agents.
        Background = "background",
    }
}

text_enum! {
    /// Where a session came from, which decides the lists that show it.
    SessionType, "a type of session" {
        /// Made by a person; the only type that lists show unasked.
        Regular = "regular",
        /// A thread of a Slack channel.
        ChannelSlack = "channel_slack",
        /// Made by an automation.
        ScheduleCron = "schedule_cron",
    }
}

text_enum! {
    /// The state of a session, without its data.
    SessionStatus, "a state of a session" {
        /// Prepared; its inputs wait.
        Draft = "draft",
        /// Takes turns.
        Active = "active",
        /// Held by a person; its inputs wait.
        Paused = "paused",
        /// Completed; takes no more inputs.
        Done = "done",
        /// Given up; takes no more inputs.
        Failed = "failed",
        /// Put away; takes no more inputs.
        Archived = "archived",
    }
}

text_enum! {
    /// What moves a session from one state to another.
    SessionEvent, "a move of a session" {
        /// A draft is ready.
        Enable = "enable",
        /// A person holds it.
        Pause = "pause",
        /// A person lets it go on.
        Resume = "resume",
        /// Its work is done.
        Complete = "complete",
        /// Its work cannot be done.
        Fail = "fail",
        /// It is put away.
        Archive = "archive",
    }
}

/// The state of a session, with the data that this state alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// The session is prepared; its inputs wait.
    Draft,
    /// The session takes turns.
    Active {
        /// The reason for which a person resumed it, if that person gave one.
        reason: Option<String>,
    },
    /// A person paused the session; its inputs wait.
    Paused {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// The session is complete; it takes no more inputs.
    Done {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// Its work cannot be done; it takes no more inputs.
    Failed {
        /// The reason that the person gave.
        reason: Option<String>,
    },
    /// The session is put away; it takes no more inputs.
    Archived {
        /// The reason that the person gave.
        reason: Option<String>,
    },
}

impl SessionState {
    /// Makes a state of its status and of the reason that a person gave for it. A draft has none.
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

    /// Returns the reason that a person gave.
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

    fn after(self, event: SessionEvent) -> Option<Self> {
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

/// What a session does with a new input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A turn may start.
    Start,
    /// The input waits until the session is active.
    Wait,
    /// The input is refused: the session is closed.
    Refuse,
}

impl SessionStatus {
    /// What becomes of an input that arrives in this state.
    pub const fn admission(self) -> Admission {
        match self {
            Self::Active => Admission::Start,
            Self::Draft | Self::Paused => Admission::Wait,
            Self::Done | Self::Failed | Self::Archived => Admission::Refuse,
        }
    }
}
