//! Teams: the roles and seats of a goal.

use std::collections::BTreeSet;

use crate::{
    goal::{new_task::NewTask, seat::Directory},
    text_enum::text_enum,
};

/// The role of the seat that plans.
pub const PLANNER: &str = "planner";
/// The role of seats that judge.
pub const JUDGE: &str = "judge";
/// The role whose tasks write the whole directory unless they say otherwise.
pub const WORKER: &str = "worker";

/// The highest number of seats of one role.
pub const SEATS_PER_ROLE: usize = 8;
/// The highest number of seats.
pub const MAX_SEATS: usize = 16;

text_enum! {
    /// The tasks that the judge reviews, beside the check of the whole goal.
    Reviews, "a rule for reviews" {
        /// No task.
        Goal = "goal",
        /// The tasks that the planner marks.
        Marked = "marked",
        /// All tasks, except those that judges take, because a judge would accept its own work.
        All = "all",
    }
}

/// A role of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The name.
    pub name: String,
    /// The number of attempts at a task.
    pub attempts: u32,
    /// `true` if an answer without a report counts as the result.
    pub accept_answers: bool,
    /// The path prefixes that a task writes if it names none. `None`: the whole directory for workers, nothing for others.
    pub writes: Option<Vec<String>>,
}

impl Role {
    /// Returns a role with default settings.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            attempts: 2,
            accept_answers: false,
            writes: None,
        }
    }

    /// Returns the path prefixes that a task of this role writes if it names none.
    pub(super) fn default_writes(&self) -> Vec<String> {
        match &self.writes {
            Some(writes) => writes.clone(),
            None if self.name == WORKER => vec![".".to_owned()],
            None => Vec::new(),
        }
    }
}

/// A seat of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatSpec {
    /// The name, such as `worker-1`.
    pub name: String,
    /// The name of the role.
    pub role: String,
    /// The directory.
    pub directory: Directory,
}

/// A team: the part of its file on which the graph depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// The roles.
    pub roles: Vec<Role>,
    /// The seats.
    pub seats: Vec<SeatSpec>,
    /// The tasks that the judge reviews.
    pub reviews: Reviews,
    /// The names of the checks, which tasks can name.
    pub checks: BTreeSet<String>,
    /// The names of the checks that the tasks of workers, and those of other roles that write files, have although their
    /// planner does not name them.
    pub verification: Vec<String>,
    /// `true` if a person approves the first plan of the planner.
    pub approve_plan: bool,
}

/// The error for a team that cannot work on a goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// The team has no seat that plans, or more than one.
    #[error("`seats` has {0} seats with the role `planner`; exactly one is accepted")]
    Planners(usize),
    /// The team has too many seats.
    #[error("`seats` has {0} seats; at most 16 are accepted")]
    Seats(usize),
    /// A role has too many seats.
    #[error("`count` of the role `{0}` is {1}; 1 to 8 are accepted")]
    Count(String, usize),
    /// A role is defined twice.
    #[error("the role `{0}` is defined twice; each role is accepted once")]
    RepeatedRole(String),
    /// A seat has a role that is not defined.
    #[error("`role` of the seat `{0}` is `{1}`; use {2}")]
    UnknownRole(String, String, String),
    /// A limit is zero.
    #[error("`limits.{0}` is 0; at least 1 is accepted")]
    ZeroLimit(&'static str),
    /// The limit of tasks is too high.
    #[error("`limits.tasks` is {0}; at most 10000 is accepted")]
    TooManyTasks(u32),
}

/// Returns `true` if a task of a role has the checks that its planner need not name. `has_writes` is `true` if the task writes
/// files.
pub(crate) fn is_verified(role: &str, has_writes: bool) -> bool {
    match role {
        PLANNER | JUDGE => false,
        // The work of a worker may change files, although its planner says that it writes none.
        WORKER => true,
        _ => has_writes,
    }
}

impl Team {
    /// Checks the team, and returns the role of each seat as an index.
    ///
    /// # Errors
    ///
    /// [`TeamError`] for the first fault.
    pub(super) fn seat_roles(&self) -> Result<Vec<usize>, TeamError> {
        let mut names = BTreeSet::new();
        for role in &self.roles {
            if !names.insert(role.name.as_str()) {
                return Err(TeamError::RepeatedRole(role.name.clone()));
            }
        }
        if self.seats.len() > MAX_SEATS {
            return Err(TeamError::Seats(self.seats.len()));
        }
        let mut roles = Vec::with_capacity(self.seats.len());
        for seat in &self.seats {
            let Some(role) = self.role(&seat.role) else {
                let all: Vec<_> = names.iter().copied().collect();
                let (name, role) = (seat.name.clone(), seat.role.clone());
                return Err(TeamError::UnknownRole(name, role, all.join(", ")));
            };
            roles.push(role);
        }
        for (index, role) in self.roles.iter().enumerate() {
            let count = roles.iter().filter(|it| **it == index).count();
            if role.name == PLANNER && count != 1 {
                return Err(TeamError::Planners(count));
            }
            if count == 0 || count > SEATS_PER_ROLE {
                return Err(TeamError::Count(role.name.clone(), count));
            }
        }
        if self.role(PLANNER).is_none() {
            return Err(TeamError::Planners(0));
        }
        Ok(roles)
    }

    /// Returns the names of the checks of a new task: its own, and behind them those that its planner need not name.
    /// `has_writes` is `true` if the task writes files.
    pub(super) fn checks_of(&self, task: &NewTask, has_writes: bool) -> Vec<String> {
        let mut checks = task.checks.clone();
        if is_verified(&task.role, has_writes) {
            let added = self.verification.iter();
            checks.extend(added.filter(|name| !task.checks.contains(*name)).cloned());
        }
        checks
    }

    /// Returns the index of a role.
    pub fn role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|role| role.name == name)
    }
}
