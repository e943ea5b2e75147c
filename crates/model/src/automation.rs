//! Automations: their state machine, and the decision that turns an occurrence into a run or a skip.

use crate::{
    lifecycle::Lifecycle,
    policy::{Overlap, Policies, SessionMode},
    run::SkipReason,
    session::{Admission, SessionStatus},
    text_enum::text_enum,
};

text_enum! {
    /// The state of an automation.
    AutomationState, "a state of an automation" {
        /// The triggers fire.
        Enabled = "enabled",
        /// The triggers do not fire. Instants that pass during the pause are never due.
        Paused = "paused",
        /// A person deleted the automation. The runs stay, and the sessions stay unless the request named them, too.
        Deleted = "deleted",
    }
}

text_enum! {
    /// An event that moves an automation from one state to another.
    AutomationEvent, "a move of an automation" {
        /// A person, a budget or too many consecutive failures pause the automation.
        Pause = "pause",
        /// A person resumes the automation. The triggers continue from now.
        Resume = "resume",
        /// The automation leaves its current session, so that its next run starts another one.
        Reset = "reset",
        /// A person requests an occurrence for now.
        Fire = "fire",
        /// A person deletes the automation.
        Delete = "delete",
    }
}

impl Lifecycle for AutomationState {
    type Event = AutomationEvent;

    const WHAT: &'static str = "automation";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [AutomationEvent] = AutomationEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Enabled];

    fn next_state(self, event: AutomationEvent) -> Option<Self> {
        match (self, event) {
            (Self::Deleted, _) => None,
            (Self::Enabled, AutomationEvent::Pause) => Some(Self::Paused),
            (Self::Paused, AutomationEvent::Resume) => Some(Self::Enabled),
            (_, AutomationEvent::Delete) => Some(Self::Deleted),
            // A person may fire a paused automation, to try it before resuming it.
            (state, AutomationEvent::Reset | AutomationEvent::Fire) => Some(state),
            (Self::Paused, AutomationEvent::Pause) | (Self::Enabled, AutomationEvent::Resume) => {
                None
            }
        }
    }
}

/// The facts on which [`decide_occurrence`] depends, read under the locks of the automation and the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OccurrenceContext {
    /// The number of the automation's runs that a worker has claimed.
    pub active_runs: u64,
    /// The number of the automation's runs that are queued or deferred.
    pub waiting_runs: u64,
    /// The status of the session that receives the turn. `None` if the run creates a new session.
    pub session: Option<SessionStatus>,
    /// `true` if a run of any origin holds the seat or waits for it.
    pub seat_taken: bool,
}

/// The result of [`decide_occurrence`] for an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OccurrenceDecision {
    /// The occurrence becomes a run.
    Run {
        /// `true` if the run has to wait for its seat, its session or another run of its automation.
        deferred: bool,
        /// `true` if the automation's other runs must be cancelled first.
        cancel_others: bool,
    },
    /// The occurrence is skipped.
    Skip(SkipReason),
}

/// Decides whether an occurrence becomes a run. The overlap policy counts only runs of the same automation. If a run
/// of another origin holds the seat, the occurrence waits and is not skipped.
pub fn decide_occurrence(
    mode: SessionMode,
    policies: &Policies,
    context: OccurrenceContext,
) -> OccurrenceDecision {
    let admission = context
        .session
        .map_or(Admission::Start, SessionStatus::admission);
    if admission == Admission::Refuse {
        return OccurrenceDecision::Skip(SkipReason::SessionClosed);
    }
    let overlap = policies.overlap(mode);
    let sibling_runs = context.active_runs + context.waiting_runs;
    if overlap == Overlap::Skip && sibling_runs > 0 {
        return OccurrenceDecision::Skip(SkipReason::Overlap);
    }
    let cancel_others = overlap == Overlap::CancelRunning && sibling_runs > 0;
    // `CancelRunning` frees the queue, so a full queue must not make it skip.
    if !cancel_others && context.waiting_runs >= u64::from(policies.queue_limit) {
        return OccurrenceDecision::Skip(SkipReason::QueueFull);
    }
    let behind_sibling = overlap != Overlap::Allow && sibling_runs > 0;
    OccurrenceDecision::Run {
        deferred: behind_sibling || context.seat_taken || admission == Admission::Wait,
        cancel_others,
    }
}
