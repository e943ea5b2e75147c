//! State machines: the trait that sessions, runs, automations and approvals implement, and the error for a move that
//! a state does not allow.

use std::fmt;

/// The error for a move that the current state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {what}{} {}, so it cannot {}",
    quoted_object(.object.as_deref()),
    state_phrase(.state),
    event_phrase(.event)
)]
pub struct InvalidTransition {
    /// The entity: `session`, `run`, `automation` or `approval`.
    pub what: &'static str,
    /// The name or the ID of the entity. `None` if it is unknown where the error occurs.
    pub object: Option<String>,
    /// The current state of the entity.
    pub state: String,
    /// The requested move.
    pub event: String,
}

impl InvalidTransition {
    /// Returns the same error with the name or the ID of the entity.
    #[must_use]
    pub fn of(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }
}

fn quoted_object(object: Option<&str>) -> String {
    object.map_or_else(String::new, |object| {
        format!(" `{}`", object.escape_debug())
    })
}

/// Returns the predicate that describes a state in a sentence, such as `is paused` or `has failed`.
pub fn state_phrase(state: &str) -> String {
    match state {
        "succeeded" | "failed" | "expired" => format!("has {state}"),
        "skipped" | "missed" => format!("was {state}"),
        state => format!("is {state}"),
    }
}

/// Returns the predicate that follows `cannot` in a sentence. Events that a person requests are in the passive voice;
/// other events are predicates already.
fn event_phrase(event: &str) -> &str {
    match event {
        "archive" => "be archived",
        "cancel" => "be cancelled",
        "claim" => "be claimed",
        "complete" => "be completed",
        "decline" => "be declined",
        "delete" => "be deleted",
        "enable" => "be enabled",
        "fire" => "be fired",
        "hold" => "be deferred",
        "pause" => "be paused",
        "promote" => "be promoted",
        "reset" => "be reset",
        "resume" => "be resumed",
        event => event,
    }
}

/// A state machine: states, events, and one total function from a state and an event to the next state.
pub trait Lifecycle: Copy + Eq + fmt::Display + 'static {
    /// The events that move the state machine.
    type Event: Copy + Eq + fmt::Display + 'static;

    /// The entity that the state machine describes, as errors name it.
    const WHAT: &'static str;
    /// All states.
    const STATES: &'static [Self];
    /// All events.
    const EVENTS: &'static [Self::Event];
    /// The states in which an entity can be created.
    const FIRST: &'static [Self];

    /// Returns the state after `event`. Returns `None` if this state does not allow the event.
    fn next_state(self, event: Self::Event) -> Option<Self>;

    /// Returns the state after `event`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidTransition`] if this state does not allow the event.
    fn apply(self, event: Self::Event) -> Result<Self, InvalidTransition> {
        self.next_state(event).ok_or_else(|| InvalidTransition {
            what: Self::WHAT,
            object: None,
            state: self.to_string(),
            event: event.to_string(),
        })
    }

    /// Returns `true` if no event moves this state.
    fn is_final(self) -> bool {
        Self::EVENTS
            .iter()
            .all(|event| self.next_state(*event).is_none())
    }

    /// Returns the state machine as a Mermaid state diagram.
    fn diagram() -> String {
        let mut lines = vec!["stateDiagram-v2".to_owned()];
        lines.extend(
            Self::FIRST
                .iter()
                .map(|state| format!("    [*] --> {state}")),
        );
        for state in Self::STATES {
            for event in Self::EVENTS {
                if let Some(next) = state.next_state(*event) {
                    lines.push(format!("    {state} --> {next}: {event}"));
                }
            }
        }
        let last = Self::STATES.iter().filter(|state| state.is_final());
        lines.extend(last.map(|state| format!("    {state} --> [*]")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        automation::{AutomationEvent, AutomationState},
        run::{RunEvent, RunStatus},
    };

    #[test]
    fn refused_transition_names_object_state_and_event_in_passive_voice() {
        let refused = RunStatus::Succeeded.apply(RunEvent::Cancel).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the run has succeeded, so it cannot be cancelled"
        );
        let refused = AutomationState::Paused.apply(AutomationEvent::Pause);
        assert_eq!(
            refused.unwrap_err().of("news").to_string(),
            "the automation `news` is paused, so it cannot be paused"
        );
    }
}
