//! Team files: the seats, the limits and the checks of a goal in TOML.
//!
//! [`parse_team`] reads a file into a [`TeamDefinition`]. [`SHIPPED_TEAMS`] are files of the same form, which are part of
//! the program.

mod parser;
mod problem;
mod seats;
mod shipped;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_seats;
mod values;

use model::team::TeamDefinition;

pub use parser::MAX_TEAM_FILE_BYTES;
pub use problem::{InvalidTeam, TeamProblem};
pub use shipped::{SHIPPED_TEAMS, ShippedTeam};

/// Parses the content of a team file. `file` is the name of the file in errors.
///
/// # Errors
///
/// Returns [`InvalidTeam`] with the mistakes, up to 20. Mistakes that can follow from a value of a wrong type are not among
/// them, except two seats of one name.
pub fn parse_team(file: &str, content: &[u8]) -> Result<TeamDefinition, InvalidTeam> {
    parser::parse(file, content)
}

/// Returns a problem for each seat of a valid team file whose agent is unknown. `accepted` tells the
/// accepted agents for an unknown one.
pub fn agent_problems(
    file: &str,
    text: &str,
    is_known: impl Fn(&str) -> bool,
    accepted: impl Fn(&str) -> String,
) -> Vec<TeamProblem> {
    parser::agent_problems(file, text, is_known, accepted)
}
