//! Teams: the seats, the limits and the checks of a goal, as a person writes them.
//!
//! A [`TeamDefinition`] comes from a file or from a team that ships. [`TeamDefinition::faults`] lists its mistakes. A
//! definition without faults gives a goal the part that moves its graph ([`TeamDefinition::graph_team`] and
//! [`TeamLimits`]) and its seats ([`TeamDefinition::seats`]), in the same order.

mod fault;
mod limits;
mod names;
mod policies;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;

use crate::{
    entity::SeatSettings,
    goal::{self, Directory, JUDGE, PLANNER, Reviews, SeatSpec, WORKER, is_verified},
    seat::names_of_roles,
    text_enum::text_enum,
    tools::AgentCron,
};

pub use fault::{TeamFault, TeamField};
pub use limits::{LIMIT_FIELDS, LimitField, TeamLimits};
pub use policies::SeatPolicies;
pub use validate::{ACCEPTED_PERIODS, MAX_ATTEMPTS, MAX_CHECK_TIMEOUT_SECONDS};

/// The name of a check that tasks have although their planner does not name it, alone or with a number behind a hyphen.
const VERIFICATION: &str = "verify";
/// The time limit of a check that names none, in seconds.
pub const CHECK_TIMEOUT_SECONDS: u32 = 600;

text_enum! {
    /// The memory with which the agent of a seat takes its turns.
    MemoryScope, "a memory of a seat" {
        /// One memory for all turns.
        Seat = "seat",
        /// A memory for each task.
        Task = "task",
    }
}

/// A team, as a person writes it. Values that a file leaves out have their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamDefinition {
    /// The name.
    pub name: String,
    /// The limits of a goal.
    pub limits: TeamLimits,
    /// The commands that Matins runs after the work on a task, by name.
    pub checks: BTreeMap<String, CheckDefinition>,
    /// The seats, each with its role.
    pub seats: Vec<SeatDefinition>,
}

/// A command that Matins runs after the work on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDefinition {
    /// The command of the shell.
    pub command: String,
    /// The time limit, in seconds. A check beyond it is broken: it neither accepts nor rejects the work.
    pub timeout_seconds: u32,
}

impl CheckDefinition {
    /// Returns the check of a command with the default time limit.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            timeout_seconds: CHECK_TIMEOUT_SECONDS,
        }
    }
}

/// The seats of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatDefinition {
    /// The role.
    pub role: String,
    /// `true` if people's messages that name no seat go to this one.
    pub is_entry: bool,
    /// The number of seats.
    pub count: u32,
    /// The name of the agent. `None`: the agent of the goal.
    pub agent: Option<String>,
    /// The text that opens each new memory.
    pub instructions: Option<String>,
    /// The memory.
    pub memory: MemoryScope,
    /// The mode of the agent, in its own identifiers.
    pub mode: Option<String>,
    /// The directory.
    pub directory: Directory,
    /// The path prefixes that a task writes if it names none. `None`: the whole directory for workers, nothing for others.
    pub writes: Option<Vec<String>>,
    /// The treatment of automations that the agent makes. Stored teams of earlier versions may have another rule than `deny`,
    /// which has no effect.
    pub cron: AgentCron,
    /// The tasks that the judge reviews. `None` for other roles, and for the default of judges.
    pub reviews: Option<Reviews>,
    /// The number of attempts at a task.
    pub attempts: u32,
    /// `true` if an answer without a report counts as the result.
    pub accept_answers: bool,
    /// The policies of the turns.
    pub policies: SeatPolicies,
}

/// One seat of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamSeat<'a> {
    /// The name, such as `worker-1`.
    pub name: String,
    /// The index of the definition in [`TeamDefinition::seats`], which errors about the seat name.
    pub index: usize,
    /// The definition.
    pub definition: &'a SeatDefinition,
}

impl SeatDefinition {
    /// Returns the seats of a role with the defaults of that role.
    pub fn new(role: &str) -> Self {
        let goal::Role {
            name,
            attempts,
            accept_answers,
            writes,
        } = goal::Role::new(role);
        Self {
            count: if role == WORKER { 2 } else { 1 },
            // A planner has to remember its plans. A fresh memory for each task keeps other seats from memories that grow
            // until they are too large.
            memory: if role == PLANNER {
                MemoryScope::Seat
            } else {
                MemoryScope::Task
            },
            role: name,
            is_entry: false,
            agent: None,
            instructions: None,
            mode: None,
            directory: Directory::Shared,
            writes,
            cron: AgentCron::Deny,
            reviews: None,
            attempts,
            accept_answers,
            policies: SeatPolicies::default(),
        }
    }

    /// `true` if the seats take tasks of plans. The planner takes none, and a judge reviews the work of others.
    fn can_work(&self) -> bool {
        !matches!(self.role.as_str(), PLANNER | JUDGE)
    }

    /// Returns the mode and the settings of the agent.
    pub fn settings(&self) -> SeatSettings {
        SeatSettings {
            mode: self.mode.clone(),
            values: BTreeMap::new(),
        }
    }
}

impl TeamDefinition {
    /// Returns the seats, the entry seat first and the others in the order of the definition.
    pub fn seats(&self) -> Vec<TeamSeat<'_>> {
        let mut seats = Vec::new();
        for (index, definition) in self.seats.iter().enumerate() {
            let roles = vec![definition.role.as_str(); definition.count as usize];
            let names = names_of_roles(&roles).into_iter();
            seats.extend(names.map(|name| TeamSeat {
                name,
                index,
                definition,
            }));
        }
        seats.sort_by_key(|seat| !seat.definition.is_entry);
        seats
    }

    /// Sets the paths that tasks write to the whole directory for each role of a team without workers that names none. Otherwise
    /// the roles that do the work would be taken for readers.
    pub fn set_default_writes(&mut self) {
        if self.seats.iter().any(|seat| seat.role == WORKER) {
            return;
        }
        let seats = self.seats.iter_mut();
        for seat in seats.filter(|seat| seat.can_work() && seat.writes.is_none()) {
            seat.writes = Some(vec![".".to_owned()]);
        }
    }

    /// Returns `true` if tasks of a role have the checks that their planner need not name.
    pub fn verifies_tasks(&self) -> bool {
        self.seats.iter().any(|seat| {
            let writes = seat.writes.as_ref();
            is_verified(&seat.role, writes.is_some_and(|paths| !paths.is_empty()))
        })
    }

    /// Returns the part of the team that moves the graph of a goal. Its seats have the order of [`Self::seats`].
    pub fn graph_team(&self, approve_plan: bool) -> goal::Team {
        let role = |seat: &SeatDefinition| goal::Role {
            name: seat.role.clone(),
            attempts: seat.attempts,
            accept_answers: seat.accept_answers,
            writes: seat.writes.clone(),
        };
        let spec = |seat: TeamSeat<'_>| SeatSpec {
            name: seat.name,
            role: seat.definition.role.clone(),
            directory: seat.definition.directory,
        };
        let judge = self.seats.iter().find(|seat| seat.role == JUDGE);
        goal::Team {
            roles: self.seats.iter().map(role).collect(),
            seats: self.seats().into_iter().map(spec).collect(),
            reviews: judge
                .and_then(|judge| judge.reviews)
                .unwrap_or(Reviews::Marked),
            checks: self.checks.keys().cloned().collect(),
            verification: self
                .checks
                .keys()
                .filter(|name| is_verification(name))
                .cloned()
                .collect(),
            approve_plan,
        }
    }
}

/// Returns `true` for `verify`, `verify-2` and so on.
fn is_verification(name: &str) -> bool {
    name.strip_prefix(VERIFICATION).is_some_and(|rest| {
        let number = rest.strip_prefix('-').map(str::parse::<u32>);
        rest.is_empty() || matches!(number, Some(Ok(_)))
    })
}
