//! A session of an agent: what it is opened with, and what it is then.

use std::{collections::BTreeMap, path::PathBuf};

use model::AcpSessionId;

/// An MCP server that the agent starts and speaks with over standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The name that the agent shows.
    pub name: String,
    /// An absolute path.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables set for it.
    pub env: BTreeMap<String, String>,
}

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its id. Provisional until its first turn has ended: most agents cannot restore a session
    /// that was never prompted.
    pub id: AcpSessionId,
    /// The agent's modes, where it has any.
    pub modes: Option<Modes>,
    /// The agent's settings.
    pub settings: Vec<Setting>,
}

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    /// The id of the present one.
    pub current: String,
    /// Those that the agent offers.
    pub offered: Vec<Mode>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// The ID of the method, for `authenticate` of a harness.
    pub id: String,
    /// What the agent shows to people.
    pub name: String,
}

/// A setting of a session, such as its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The ID of the method, for `authenticate` of a harness.
    pub id: String,
    /// What the agent shows to people.
    pub name: String,
    /// The present value.
    pub current: String,
    /// The values that the agent takes; `true` and `false` for a switch.
    pub values: Vec<String>,
    /// Whether it is a switch, which the protocol writes in another way.
    pub(crate) boolean: bool,
}
