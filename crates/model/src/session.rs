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
    /// Where a session is in its life.
    SessionState, "a state of a session" {
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

impl Lifecycle for SessionState {
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

impl SessionState {
    /// What becomes of an input that arrives in this state.
    pub const fn admission(self) -> Admission {
        match self {
            Self::Active => Admission::Start,
            Self::Draft | Self::Paused => Admission::Wait,
            Self::Done | Self::Failed | Self::Archived => Admission::Refuse,
        }
    }
}
