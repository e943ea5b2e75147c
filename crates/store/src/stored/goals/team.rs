//! The documents `goals.team` and `goals.limits`.

use std::collections::BTreeSet;

use model::goal::{Directory, Limits, Reviews, Role, SeatSpec, Team};
use serde::{Deserialize, Serialize};

use crate::stored::{BoxError, Document};

/// The team of a goal, as its row holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredTeam {
    roles: Vec<StoredRole>,
    seats: Vec<StoredSeat>,
    reviews: Reviews,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    checks: BTreeSet<String>,
    #[serde(default)]
    approve_plan: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRole {
    name: String,
    attempts: u32,
    #[serde(default)]
    accept_answers: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writes: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredSeat {
    name: String,
    role: String,
    directory: Directory,
}

impl Document for StoredTeam {
    type Domain = Team;

    fn of(team: &Team) -> Self {
        let roles = team.roles.iter().cloned().map(|role| StoredRole {
            name: role.name,
            attempts: role.attempts,
            accept_answers: role.accept_answers,
            writes: role.writes,
        });
        let seats = team.seats.iter().cloned().map(|seat| StoredSeat {
            name: seat.name,
            role: seat.role,
            directory: seat.directory,
        });
        Self {
            roles: roles.collect(),
            seats: seats.collect(),
            reviews: team.reviews,
            checks: team.checks.clone(),
            approve_plan: team.approve_plan,
        }
    }

    fn into_domain(self) -> Result<Team, BoxError> {
        let roles = self.roles.into_iter().map(|role| Role {
            attempts: role.attempts,
            accept_answers: role.accept_answers,
            writes: role.writes,
            ..Role::new(&role.name)
        });
        let seats = self.seats.into_iter().map(|seat| SeatSpec {
            name: seat.name,
            role: seat.role,
            directory: seat.directory,
        });
        Ok(Team {
            roles: roles.collect(),
            seats: seats.collect(),
            reviews: self.reviews,
            checks: self.checks,
            approve_plan: self.approve_plan,
        })
    }
}

/// Declares the document of the limits. A limit that an earlier program has not written has its default.
macro_rules! stored_limits {
    ($($limit:ident),* $(,)?) => {
        /// The limits of a goal, as its row holds them.
        #[derive(Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub(crate) struct StoredLimits { $($limit: Option<u32>,)* }

        impl Document for StoredLimits {
            type Domain = Limits;

            fn of(limits: &Limits) -> Self {
                Self { $($limit: Some(limits.$limit),)* }
            }

            fn into_domain(self) -> Result<Limits, BoxError> {
                let defaults = Limits::default();
                Ok(Limits { $($limit: self.$limit.unwrap_or(defaults.$limit),)* })
            }
        }
    };
}

stored_limits!(
    plan,
    tasks,
    replans,
    rounds,
    equal_rounds,
    failed_checks,
    idle_turns,
    alternating_turns,
    messages,
    message_turns,
    turns,
    parallel,
);
