//! State machines: the trait that sessions, runs, automations and approvals implement, and the error for a move that
//! a state does not allow.

use std::fmt;

/// The error for a move that the current state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} is {state}, so it cannot {event}")]
pub struct InvalidTransition {
    /// The entity: `session`, `run`, `automation` or `approval`.
    pub what: &'static str,
    /// The current state of the entity.
    pub state: String,
    /// The requested move.
    pub event: String,
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
