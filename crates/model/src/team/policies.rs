//! The policies of the turns of a seat.

use crate::{approval::OnUnmatched, permission::PermissionRules, policy::Policies};

/// The policies of all turns of a seat. Each is that of automations with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatPolicies {
    /// The time limit of a turn, in seconds.
    pub timeout_seconds: u32,
    /// The longest silence of the agent during a turn, in seconds.
    pub inactivity_seconds: u32,
    /// The treatment of permission requests that no rule matches.
    pub on_unmatched: OnUnmatched,
    /// The longest time for which such a request waits for a person, in seconds.
    pub ask_seconds: u32,
    /// The rules that answer permission requests together with those of the agent.
    pub permissions: PermissionRules,
}

impl Default for SeatPolicies {
    fn default() -> Self {
        let Policies {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            ..
        } = Policies::default();
        Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            permissions: PermissionRules::default(),
        }
    }
}

impl SeatPolicies {
    /// Returns the policies of a turn: those of the seat, and the defaults of all others. The rules are no part of them.
    pub fn of_turn(&self) -> Policies {
        // Destructure without `..`, so that a new policy does not compile until turns have it.
        let Self {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            permissions: _,
        } = *self;
        Policies {
            timeout_seconds,
            inactivity_seconds,
            on_unmatched,
            ask_seconds,
            ..Policies::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_seat_are_those_of_its_turns() {
        assert_eq!(SeatPolicies::default().of_turn(), Policies::default());
        let seat = SeatPolicies {
            timeout_seconds: 5400,
            inactivity_seconds: 1200,
            on_unmatched: OnUnmatched::RequestApproval,
            ask_seconds: 3600,
            permissions: PermissionRules::default(),
        };
        let expected = Policies {
            timeout_seconds: 5400,
            inactivity_seconds: 1200,
            on_unmatched: OnUnmatched::RequestApproval,
            ask_seconds: 3600,
            ..Policies::default()
        };
        assert_eq!(seat.of_turn(), expected);
    }
}
