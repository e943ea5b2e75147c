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
#[error("{}", list(problems))]
pub struct InvalidTeam {
    /// The mistakes, in the order of the file. There is at least one.
    pub problems: Vec<TeamProblem>,
}

fn list(problems: &[TeamProblem]) -> String {
    let lines: Vec<_> = problems.iter().map(TeamProblem::to_string).collect();
    lines.join("\n")
}
