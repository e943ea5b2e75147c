//! The teams that are part of the program.

use model::team::TeamDefinition;

use super::{parser::parse, problem::InvalidTeam};

/// A team that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct ShippedTeam {
    /// The name.
    pub name: &'static str,
    /// The purpose, in a few words.
    pub about: &'static str,
    /// The content of its file.
    pub file: &'static str,
}

/// The teams, by name.
pub const SHIPPED_TEAMS: [ShippedTeam; 4] = [
    ShippedTeam {
        name: "code",
        about: "changes of code, each with a test and a review",
        file: include_str!("shipped/code.toml"),
    },
    ShippedTeam {
        name: "demo",
        about: "a demonstration without a model",
        file: include_str!("shipped/demo.toml"),
    },
    ShippedTeam {
        name: "inbox",
        about: "many small items in batches",
        file: include_str!("shipped/inbox.toml"),
    },
    ShippedTeam {
        name: "research",
        about: "questions, each answered with its sources",
        file: include_str!("shipped/research.toml"),
    },
];

impl ShippedTeam {
    /// Returns the team with a name. Returns `None` if no team that ships has it.
    pub fn find(name: &str) -> Option<Self> {
        SHIPPED_TEAMS.into_iter().find(|team| team.name == name)
    }

    /// Returns the team.
    ///
    /// # Errors
    ///
    /// Returns no error in practice, because a test parses each file.
    pub fn definition(&self) -> Result<TeamDefinition, InvalidTeam> {
        parse(&format!("{}.toml", self.name), self.file.as_bytes())
    }
}
