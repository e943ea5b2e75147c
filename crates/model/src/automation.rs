//! Automations: enabled or paused, and what one occurrence of them becomes.

use crate::{
    lifecycle::Lifecycle,
    policy::{Overlap, Policies, SessionMode},
    run::SkipReason,
    session::{Admission, SessionStatus},
    text_enum::text_enum,
};

text_enum! {
    /// Where an automation is in its life.
    AutomationState, "a state of an automation" {
        /// Its triggers fire.
        Enabled = "enabled",
        /// Its triggers do not fire; instants meanwhile are not due.
        Paused = "paused",
        /// Removed; its runs and sessions stay.
        Deleted = "deleted",
    }
}

text_enum! {
    /// What moves an automation from one state to another.
    AutomationEvent, "a move of an automation" {
        /// A person, a limit or too many failures hold it.
        Pause = "pause",
        /// It is let go on, from now.
        Resume = "resume",
        /// Its current session is let go; the next run starts another.
        Reset = "reset",
        /// An occurrence is made now.
        Fire = "fire",
        /// It is removed.
        Delete = "delete",
    }
}

impl Lifecycle for AutomationState {
    type Event = AutomationEvent;

    const WHAT: &'static str = "automation";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [AutomationEvent] = AutomationEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Enabled];

    fn after(self, event: AutomationEvent) -> Option<Self> {
        match (self, event) {
            (Self::Deleted, _) => None,
            (Self::Enabled, AutomationEvent::Pause) => Some(Self::Paused),
            (Self::Paused, AutomationEvent::Resume) => Some(Self::Enabled),
            (_, AutomationEvent::Delete) => Some(Self::Deleted),
            // Firing by hand works on a paused automation: a person tries it before resuming.
            (state, AutomationEvent::Reset | AutomationEvent::Fire) => Some(state),
            (Self::Paused, AutomationEvent::Pause) | (Self::Enabled, AutomationEvent::Resume) => {
                None
            }
        }
    }
}

/// What an occurrence meets when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The automation's own runs that a worker has.
    pub active: u64,
    /// The automation's own runs that wait, queued or deferred.
    pub waiting: u64,
    /// The session that is to take the turn: its state, or `None` where the run makes a new one.
    pub session: Option<SessionStatus>,
    /// Whether anything, of whatever origin, holds the seat or waits for it.
    pub seat_taken: bool,
}

/// What becomes of an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It becomes a run.
    Run {
        /// It has to wait for its seat, its session or the automation's other run.
        deferred: bool,
        /// The automation's other runs are called off for it.
        cancel_others: bool,
    },
    /// It does not.
    Skip(SkipReason),
}

/// Decides what an occurrence becomes. The overlap policy looks only at the automation's own runs;
/// a seat that is busy with anything else merely defers.
pub fn decide(mode: SessionMode, policies: &Policies, standing: Standing) -> Decision {
    let admission = standing
        .session
        .map_or(Admission::Start, SessionStatus::admission);
    if admission == Admission::Refuse {
        return Decision::Skip(SkipReason::SessionClosed);
    }
    let overlap = policies.overlap(mode);
    let own = standing.active + standing.waiting;
    if overlap == Overlap::Skip && own > 0 {
        return Decision::Skip(SkipReason::Overlap);
    }
    let cancel_others = overlap == Overlap::CancelRunning && own > 0;
    if !cancel_others && standing.waiting >= u64::from(policies.queue_limit) {
        return Decision::Skip(SkipReason::QueueFull);
    }
    let behind_own = overlap != Overlap::Allow && own > 0;
    Decision::Run {
        deferred: behind_own || standing.seat_taken || admission == Admission::Wait,
        cancel_others,
    }
}
