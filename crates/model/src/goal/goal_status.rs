//! The status of a goal, and the moves between two of them.

use crate::{lifecycle::Lifecycle, text_enum::text_enum};

text_enum! {
    /// The status of a goal: its state without the data.
    GoalStatus, "a status of a goal" {
        /// The goal is being prepared.
        Draft = "draft",
        /// Turns start.
        Active = "active",
        /// No turn starts, and turns under way may end.
        Paused = "paused",
        /// The goal is reached.
        Done = "done",
        /// The goal is given up or cancelled.
        Failed = "failed",
    }
}

text_enum! {
    /// A move of a goal from one status to another.
    GoalEvent, "a move of a goal" {
        /// A person starts the draft.
        Enable = "enable",
        /// A person pauses the goal, or it cannot go on.
        Pause = "pause",
        /// The reason of the pause is over.
        Resume = "resume",
        /// The goal is reached.
        Complete = "complete",
        /// A person cancels the goal, or it is given up.
        Fail = "fail",
    }
}

impl Lifecycle for GoalStatus {
    type Event = GoalEvent;

    const WHAT: &'static str = "goal";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [GoalEvent] = GoalEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Draft];

    fn next_state(self, event: GoalEvent) -> Option<Self> {
        Some(match (self, event) {
            (Self::Draft, GoalEvent::Enable) | (Self::Paused, GoalEvent::Resume) => Self::Active,
            (Self::Active, GoalEvent::Pause) => Self::Paused,
            (Self::Active, GoalEvent::Complete) => Self::Done,
            (Self::Draft | Self::Active | Self::Paused, GoalEvent::Fail) => Self::Failed,
            _ => return None,
        })
    }
}
