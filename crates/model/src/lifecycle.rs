//! What all state machines share: a move that is not allowed is refused with the state named.

use std::fmt;

/// A move that its state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {state}, so it cannot {event}")]
pub struct Refused {
    /// What was to move: `session`, `run`, `automation`.
    pub what: &'static str,
    /// The state in which it is.
    pub state: String,
    /// The move that was asked for.
    pub event: String,
}

/// A state machine: states, events and one total function from a pair of them.
pub trait Lifecycle: Copy + Eq + fmt::Display + 'static {
    /// What can happen.
    type Event: Copy + Eq + fmt::Display + 'static;

    /// What moves, in the glossary's word.
    const WHAT: &'static str;
    /// Every state.
    const STATES: &'static [Self];
    /// Every event.
    const EVENTS: &'static [Self::Event];
    /// The states in which something can begin its life.
    const FIRST: &'static [Self];

    /// The state after `event`; `None` where the event is not allowed.
    fn after(self, event: Self::Event) -> Option<Self>;

    /// Moves on, or says why not.
    fn apply(self, event: Self::Event) -> Result<Self, Refused> {
        self.after(event).ok_or_else(|| Refused {
            what: Self::WHAT,
            state: self.to_string(),
            event: event.to_string(),
        })
    }

    /// Whether nothing moves it any more.
    fn is_final(self) -> bool {
        Self::EVENTS
            .iter()
            .all(|event| self.after(*event).is_none())
    }

    /// Draws the machine as a Mermaid state diagram.
    fn diagram() -> String {
        let mut lines = vec!["stateDiagram-v2".to_owned()];
        lines.extend(
            Self::FIRST
                .iter()
                .map(|state| format!("    [*] --> {state}")),
        );
        for state in Self::STATES {
            for event in Self::EVENTS {
                if let Some(next) = state.after(*event) {
                    lines.push(format!("    {state} --> {next}: {event}"));
                }
            }
        }
        let last = Self::STATES.iter().filter(|state| state.is_final());
        lines.extend(last.map(|state| format!("    {state} --> [*]")));
        lines.join("\n")
    }
}
