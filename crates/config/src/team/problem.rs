//! The problems of a team file, with their locations.

use std::fmt;

use model::escape::escape_line;

/// A mistake in a team file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamProblem {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The field, its value, and the accepted values.
    pub message: String,
}

impl fmt::Display for TeamProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            message,
        } = self;
        write!(f, "{}:{line}:{column}: {message}", escape_line(file))
    }
}

/// The error for a team file with mistakes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(problems, *more))]
pub struct InvalidTeam {
    /// The first mistakes, in the order of the file. There is at least one.
    pub problems: Vec<TeamProblem>,
    /// The number of further mistakes.
    pub more: usize,
}

impl InvalidTeam {
    /// Returns a line about the further mistakes, if there are any.
    pub fn more_problems(&self) -> Option<String> {
        more_line(self.more)
    }
}

fn list(problems: &[TeamProblem], more: usize) -> String {
    let lines = problems.iter().map(TeamProblem::to_string);
    let lines: Vec<_> = lines.chain(more_line(more)).collect();
    lines.join("\n")
}

fn more_line(more: usize) -> Option<String> {
    match more {
        0 => None,
        1 => Some("1 more problem is not listed".to_owned()),
        more => Some(format!("{more} more problems are not listed")),
    }
}
