//! A session of an agent: its MCP servers, modes and settings.

use std::{collections::BTreeMap, path::PathBuf};

use model::AcpSessionId;

/// An MCP server that the agent starts and speaks with over standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The name that the agent shows.
    pub name: String,
    /// The absolute path of its program.
    pub command: PathBuf,
    /// The arguments of its program.
    pub args: Vec<String>,
    /// The environment variables that the agent sets for it.
    pub env: BTreeMap<String, String>,
}

/// An open session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// The ID of the session. Provisional until the session's first turn has ended, because most agents cannot
    /// restore a session that was never prompted.
    pub id: AcpSessionId,
    /// The agent's modes, if it has any.
    pub modes: Option<Modes>,
    /// The agent's settings.
    pub settings: Vec<Setting>,
}

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    /// The ID of the current mode.
    pub current: String,
    /// The modes that the agent offers.
    pub offered: Vec<Mode>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// The ID of the mode, as the agent knows it.
    pub id: String,
    /// The name that the agent shows to people.
    pub name: String,
}

/// A setting of a session, such as its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The ID of the setting, as the agent knows it.
    pub id: String,
    /// The name that the agent shows to people.
    pub name: String,
    /// The current value.
    pub current: String,
    /// The values that the agent accepts; `true` and `false` for a switch.
    pub values: Vec<String>,
    /// `true` if the setting is a switch, whose value the protocol writes as a boolean.
    pub(crate) is_boolean: bool,
}
