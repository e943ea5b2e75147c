//! The check of a team.

use std::collections::BTreeMap;

use super::{
    LIMIT_FIELDS, SeatDefinition, TeamDefinition, TeamFault, TeamField,
    names::{ACCEPTED_NAMES, ACCEPTED_ROLES, is_role},
};
use crate::{
    goal::{JUDGE, MAX_SEATS, PLANNER, SEATS_PER_ROLE, WORKER, normalize_path},
    limits::{INSTRUCTIONS_BYTES, NAME_BYTES, SEAT_NAME_CHARS},
    seat::is_plain_name,
    tools::AgentCron,
};

/// The lowest number of seats: a planner, and one that works on tasks.
const MIN_SEATS: usize = 2;
/// The highest number of attempts at a task.
pub const MAX_ATTEMPTS: u32 = 10;
/// The longest time limit of a check, in seconds.
pub const MAX_CHECK_TIMEOUT_SECONDS: u32 = 3600;
/// The accepted periods of the policies of seats, in words: those of automations.
pub const ACCEPTED_PERIODS: &str = "accepted is a period in quotes of 1s to 366d, such as \"45m\"";

/// The highest number of checks.
const MAX_CHECKS: usize = 20;
/// The longest command of a check, in bytes.
const COMMAND_BYTES: usize = 1000;
/// The highest number of path prefixes of a role.
const MAX_WRITES: usize = 20;
/// The longest path prefix, in bytes.
const PATH_BYTES: usize = 500;

impl TeamDefinition {
    /// Returns the mistakes, in the order of the fields. A team without mistakes can work on a goal.
    pub fn faults(&self) -> Vec<TeamFault> {
        let mut faults = Faults::default();
        if !is_plain_name(&self.name) {
            faults.text(TeamField::Name, &self.name, ACCEPTED_NAMES);
        }
        for limit in &LIMIT_FIELDS {
            let value = (limit.get)(&self.limits);
            if value < limit.least || value > limit.highest {
                faults.number(TeamField::Limit(limit.name), value, limit.accepted());
            }
        }
        self.check_commands(&mut faults);
        for (index, seat) in self.seats.iter().enumerate() {
            self.check_role(index, seat, &mut faults);
            check_count(index, seat, &mut faults);
            self.check_entry(index, seat, &mut faults);
            check_texts(index, seat, &mut faults);
            check_work(index, seat, &mut faults);
            check_policies(index, seat, &mut faults);
        }
        self.check_seats(&mut faults);
        faults.0
    }

    fn check_commands(&self, faults: &mut Faults) {
        if self.checks.len() > MAX_CHECKS {
            let reason = format!(
                "there are {}; accepted are up to {MAX_CHECKS}",
                self.checks.len()
            );
            faults.list(TeamField::Checks, reason);
        }
        for (name, check) in &self.checks {
            let command = &check.command;
            let field = || TeamField::Check(name.clone());
            if !is_plain_name(name) {
                let reason = format!("the name of a check is invalid: {ACCEPTED_NAMES}");
                faults.text(field(), command, reason);
            } else if command.len() > COMMAND_BYTES {
                let reason = format!(
                    "it has {} bytes; accepted are up to {COMMAND_BYTES}",
                    command.len()
                );
                faults.text(field(), command, reason);
            } else if !is_command(command) {
                let reason = "accepted is a command on one line, such as `cargo test -q`, with closed quotes";
                faults.text(field(), command, reason);
            }
            let timeout = check.timeout_seconds;
            if timeout == 0 || timeout > MAX_CHECK_TIMEOUT_SECONDS {
                let field = TeamField::CheckTimeout(name.clone());
                let reason = format!("accepted are 1 to {MAX_CHECK_TIMEOUT_SECONDS} seconds");
                faults.number(field, timeout, reason);
            }
        }
    }

    fn check_role(&self, index: usize, seat: &SeatDefinition, faults: &mut Faults) {
        let field = TeamField::Seat { index, key: "role" };
        let earlier = self.seats[..index]
            .iter()
            .position(|other| other.role == seat.role);
        if !is_role(&seat.role) {
            faults.text(field, &seat.role, ACCEPTED_ROLES);
        } else if let Some(earlier) = earlier {
            let reason = match seat.role.as_str() {
                PLANNER | JUDGE => {
                    format!("`seats[{earlier}]` has the role; accepted is each role once")
                }
                _ => format!(
                    "`seats[{earlier}]` has the role; accepted is each role once, with a `count`"
                ),
            };
            faults.text(field, &seat.role, reason);
        }
    }

    fn check_entry(&self, index: usize, seat: &SeatDefinition, faults: &mut Faults) {
        if !seat.is_entry {
            return;
        }
        let field = TeamField::Seat {
            index,
            key: "entry",
        };
        let earlier = self.seats[..index].iter().position(|other| other.is_entry);
        if let Some(earlier) = earlier {
            let reason = format!(
                "`seats[{earlier}]` is the entry; accepted is one entry, the role `{PLANNER}`"
            );
            faults.value(field, "true", reason);
        } else if seat.role != PLANNER {
            let reason = format!("accepted is one entry, the role `{PLANNER}`");
            faults.value(field, "true", reason);
        }
    }

    /// Checks the seats of all roles together.
    fn check_seats(&self, faults: &mut Faults) {
        if self.seats.is_empty() {
            let reason = format!("it is empty; accepted are {MIN_SEATS} to {MAX_SEATS} seats");
            faults.list(TeamField::Seats, reason);
            return;
        }
        let total: usize = self.seats.iter().map(|seat| seat.count as usize).sum();
        if total > MAX_SEATS {
            let reason =
                format!("there are {total} seats; accepted are {MIN_SEATS} to {MAX_SEATS}");
            faults.list(TeamField::Seats, reason);
            return;
        }
        match self.seats.iter().position(|seat| seat.role == PLANNER) {
            None => {
                let reason = format!(
                    "no seat has the role `{PLANNER}`; accepted is one, with `entry = true`"
                );
                faults.list(TeamField::Seats, reason);
            }
            Some(index) if self.seats.iter().all(|seat| !seat.is_entry) => {
                let field = TeamField::Seat {
                    index,
                    key: "entry",
                };
                let reason = format!("no seat is the entry; accepted is true for `{PLANNER}`");
                faults.value(field, "false", reason);
            }
            Some(_) => {}
        }
        if !self.seats.iter().any(SeatDefinition::can_work) {
            let reason = format!(
                "no seat can work on tasks; accepted is at least one more role, such as `{WORKER}`"
            );
            faults.list(TeamField::Seats, reason);
        }
        // A role such as `worker-1` can have the name of a seat of another role.
        let mut names = BTreeMap::new();
        for seat in self.seats() {
            let index = seat.index;
            let field = TeamField::Seat { index, key: "role" };
            let role = &seat.definition.role;
            if seat.name.len() > SEAT_NAME_CHARS && is_role(role) {
                let reason = format!(
                    "the name `{}` has more than {SEAT_NAME_CHARS} characters",
                    seat.name
                );
                faults.text(field, role, reason);
                return;
            }
            match names.insert(seat.name.clone(), index) {
                Some(other) if other != index && self.seats[other].role != *role => {
                    let reason = format!(
                        "a seat of `seats[{other}]` has the name `{}` too; accepted are different names",
                        seat.name
                    );
                    faults.text(field, role, reason);
                    return;
                }
                _ => {}
            }
        }
    }
}

fn check_count(index: usize, seat: &SeatDefinition, faults: &mut Faults) {
    let field = TeamField::Seat {
        index,
        key: "count",
    };
    let count = seat.count as usize;
    if seat.role == PLANNER && count != 1 {
        let reason = "accepted is 1, because one seat makes the plan";
        faults.number(field, seat.count, reason);
    } else if count == 0 || count > SEATS_PER_ROLE {
        let reason = format!("accepted are 1 to {SEATS_PER_ROLE}");
        faults.number(field, seat.count, reason);
    }
}

fn check_texts(index: usize, seat: &SeatDefinition, faults: &mut Faults) {
    let texts = [
        ("agent", &seat.agent, NAME_BYTES),
        ("instructions", &seat.instructions, INSTRUCTIONS_BYTES),
        ("mode", &seat.mode, NAME_BYTES),
    ];
    for (key, text, longest) in texts {
        let field = TeamField::Seat { index, key };
        match text {
            Some(text) if text.trim().is_empty() => {
                let reason = format!("it is empty; accepted are 1 to {longest} bytes");
                faults.text(field, text, reason);
            }
            Some(text) if text.len() > longest => {
                let reason = format!("it has {} bytes; accepted are 1 to {longest}", text.len());
                faults.text(field, text, reason);
            }
            _ => {}
        }
    }
}

fn check_work(index: usize, seat: &SeatDefinition, faults: &mut Faults) {
    let field = |key| TeamField::Seat { index, key };
    if let Some(reviews) = seat.reviews
        && seat.role != JUDGE
    {
        let reason = format!("accepted is it for the role `{JUDGE}` alone");
        faults.text(field("reviews"), reviews.as_str(), reason);
    }
    if seat.attempts == 0 || seat.attempts > MAX_ATTEMPTS {
        let reason = format!("accepted are 1 to {MAX_ATTEMPTS}");
        faults.number(field("attempts"), seat.attempts, reason);
    }
    // Neither the limits nor the end of a goal would bind the turns that such an automation starts in its session.
    if seat.cron != AgentCron::Deny {
        let reason = "accepted is \"deny\", because the agents of goals make no automations";
        faults.text(field("cron"), seat.cron.as_str(), reason);
    }
    let writes = seat.writes.as_deref().unwrap_or_default();
    if writes.len() > MAX_WRITES {
        let reason = format!(
            "there are {} paths; accepted are up to {MAX_WRITES}",
            writes.len()
        );
        faults.list(field("writes"), reason);
    }
    let is_accepted = |path: &String| path.len() <= PATH_BYTES && normalize_path(path).is_some();
    for path in writes.iter().filter(|path| !is_accepted(path)) {
        let reason = format!(
            "accepted are paths below the directory, such as `.` and `src/api`, of up to {PATH_BYTES} bytes"
        );
        faults.text(field("writes"), path, reason);
    }
}

fn check_policies(index: usize, seat: &SeatDefinition, faults: &mut Faults) {
    let policies = &seat.policies;
    for (key, seconds) in [
        ("timeout", policies.timeout_seconds),
        ("inactivity", policies.inactivity_seconds),
        ("ask_timeout", policies.ask_seconds),
    ] {
        if seconds == 0 {
            let field = TeamField::Seat { index, key };
            faults.text(field, "0s", ACCEPTED_PERIODS);
        }
    }
}

/// Returns `true` if a text is a command on one line, with its quotes closed.
fn is_command(text: &str) -> bool {
    let has_control = text.chars().any(char::is_control);
    !has_control && shlex::split(text).is_some_and(|words| !words.is_empty())
}

/// The mistakes that were found.
#[derive(Debug, Default)]
struct Faults(Vec<TeamFault>);

impl Faults {
    /// Adds a mistake in a text, which a file has in quotes.
    fn text(&mut self, field: TeamField, given: &str, reason: impl Into<String>) {
        self.value(field, &format!("\"{given}\""), reason);
    }

    fn number(&mut self, field: TeamField, given: u32, reason: impl Into<String>) {
        self.value(field, &given.to_string(), reason);
    }

    fn value(&mut self, field: TeamField, given: &str, reason: impl Into<String>) {
        self.0.push(TeamFault {
            field,
            given: Some(given.to_owned()),
            reason: reason.into(),
        });
    }

    /// Adds a mistake in a list or a table.
    fn list(&mut self, field: TeamField, reason: impl Into<String>) {
        self.0.push(TeamFault {
            field,
            given: None,
            reason: reason.into(),
        });
    }
}
