//! The mistakes in a team.

use std::fmt;

use crate::escape::excerpt;

/// A field of a team.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TeamField {
    /// The name.
    Name,
    /// A limit.
    Limit(&'static str),
    /// The checks.
    Checks,
    /// The command of a check.
    Check(String),
    /// The time limit of a check.
    CheckTimeout(String),
    /// The seats.
    Seats,
    /// A field of the seats of one role.
    Seat {
        /// The index in the list of seats.
        index: usize,
        /// The name of the field.
        key: &'static str,
    },
}

impl fmt::Display for TeamField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(f, "name"),
            Self::Limit(name) => write!(f, "limits.{name}"),
            Self::Checks => write!(f, "checks"),
            Self::Check(name) => write!(f, "checks.{}", key(name)),
            Self::CheckTimeout(name) => write!(f, "checks.{}.timeout", key(name)),
            Self::Seats => write!(f, "seats"),
            Self::Seat { index, key } => write!(f, "seats[{index}].{key}"),
        }
    }
}

/// Returns a key as a file has it: in quotes, if it needs them.
fn key(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !name.is_empty() && name.chars().all(is_plain) {
        return excerpt(name);
    }
    format!("\"{}\"", excerpt(name))
}

/// A mistake in a team, with the accepted values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", describe(field, given.as_deref()))]
pub struct TeamFault {
    /// The field.
    pub field: TeamField,
    /// The value in the notation of a file. `None` if the value is a list or a table.
    pub given: Option<String>,
    /// The mistake in the value, or the accepted values.
    pub reason: String,
}

fn describe(field: &TeamField, given: Option<&str>) -> String {
    match given {
        Some(given) => format!("invalid `{field} = {}`", excerpt(given)),
        None => format!("invalid `{field}`"),
    }
}
