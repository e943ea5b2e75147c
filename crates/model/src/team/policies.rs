//! The policies of the turns of a seat.

use crate::policy::Policies;

/// The policies of all turns of a seat. Each is that of automations with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatPolicies {
    /// The time limit of a turn, in seconds.
    pub timeout_seconds: u32,
    /// The longest silence of the agent during a turn, in seconds.
    pub inactivity_seconds: u32,
}

impl Default for SeatPolicies {
    fn default() -> Self {
        let Policies {
            timeout_seconds,
            inactivity_seconds,
            ..
        } = Policies::default();
        Self {
            timeout_seconds,
            inactivity_seconds,
        }
    }
}

impl SeatPolicies {
    /// Returns the policies of a turn: those of the seat, and the defaults of all others.
    pub fn of_turn(&self) -> Policies {
        // Destructure without `..`, so that a new policy does not compile until turns have it.
        let Self {
            timeout_seconds,
            inactivity_seconds,
        } = *self;
        Policies {
            timeout_seconds,
            inactivity_seconds,
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
        };
        let expected = Policies {
            timeout_seconds: 5400,
            inactivity_seconds: 1200,
            ..Policies::default()
        };
        assert_eq!(seat.of_turn(), expected);
    }
}
