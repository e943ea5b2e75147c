//! Configured agents: the command and the settings with which Matins starts the process of an ACP agent.

use std::collections::BTreeMap;

use crate::{ids::AgentId, permission::PermissionRules, text_enum::text_enum, tools::ToolAccess};

text_enum! {
    /// The request of the protocol that restores a session.
    RestoreBy, "a way to restore" {
        /// `session/resume` if the agent offers it, otherwise `session/load`.
        Auto = "auto",
        /// Only `session/resume`.
        Resume = "resume",
        /// Only `session/load`.
        Load = "load",
    }
}

/// The capabilities that an agent announced at its last start.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a flag for each"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedCapabilities {
    /// The agent's name.
    pub name: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// `true` if the agent offers `session/resume`.
    pub resume: bool,
    /// `true` if the agent offers `session/load`.
    pub load: bool,
    /// `true` if the agent offers `session/list`.
    pub list: bool,
    /// `true` if the agent offers `session/close`.
    pub close: bool,
    /// `true` if the agent offers `session/delete`.
    pub delete: bool,
    /// The content that prompts may have besides text: `image`, `audio`, `resource`.
    pub prompts: Vec<String>,
    /// The transports of MCP servers: `stdio`, which every agent supports, `http` and `sse`.
    pub mcp: Vec<String>,
    /// The IDs of the sign-in methods.
    pub auth_methods: Vec<String>,
}

impl OfferedCapabilities {
    /// Returns `true` if the agent offers a request that `by` accepts.
    pub const fn can_restore(&self, by: RestoreBy) -> bool {
        match by {
            RestoreBy::Auto => self.resume || self.load,
            RestoreBy::Resume => self.resume,
            RestoreBy::Load => self.load,
        }
    }
}

/// The resource limits of an agent's processes. Each limit applies to all processes together, unless its field names
/// each process. `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// The memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads.
    pub processes: Option<u64>,
    /// The processor time, in seconds.
    pub cpu_seconds: Option<u64>,
    /// The number of open files of each process.
    pub open_files: Option<u64>,
    /// The size of a file that a process may write, in bytes.
    pub file_bytes: Option<u64>,
}

/// The default limit of processes and threads: high enough for every well-behaved agent, and low enough that a
/// machine survives a fork bomb.
const DEFAULT_PROCESSES: u64 = 4096;

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            memory_bytes: None,
            processes: Some(DEFAULT_PROCESSES),
            cpu_seconds: None,
            open_files: None,
            file_bytes: None,
        }
    }
}

/// The configuration that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The variables that are set in the agent's environment.
    pub env: BTreeMap<String, String>,
    /// The names of further variables that the agent receives from the server's environment, besides [`PASSED_ENV`].
    pub pass_env: Vec<String>,
    /// The ID of the sign-in method, for agents that require a sign-in.
    pub authenticate: Option<String>,
    /// The request that restores sessions.
    pub restore: RestoreBy,
    /// The rules that answer permission requests.
    pub permissions: PermissionRules,
    /// The mode of a session, in the agent's own identifier.
    pub mode: Option<String>,
    /// The settings of a session, in the agent's own identifiers and values.
    pub settings: BTreeMap<String, String>,
    /// The minimum time between the first turn of a session and its first restore, in seconds. Some agents lose a
    /// session that is restored earlier.
    pub restore_after_seconds: u32,
    /// The time limit for the agent's start and introduction, and again for the creation of a session, in seconds.
    pub start_seconds: u32,
    /// The time limit for the restore of a session, and for each change of its mode or of a setting, in seconds.
    pub restore_seconds: u32,
    /// The resource limits of the agent's processes.
    pub limits: ResourceLimits,
    /// The tools of Matins that the agent gets.
    pub tools: ToolAccess,
    /// The titles of the agent's permission requests for tools of Matins, with `{tool}` where the name of the tool
    /// stands. Such a request is allowed once, unless a rule denies it.
    pub own_tools: Vec<String>,
}

/// The variables of the server's environment that every agent receives if they are set. All others are withheld,
/// because they may contain secrets.
pub const PASSED_ENV: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

const fn default_start_seconds() -> u32 {
    60
}

const fn default_restore_seconds() -> u32 {
    120
}

impl AgentConfig {
    /// Returns a configuration with this command and defaults for everything else.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            authenticate: None,
            restore: RestoreBy::Auto,
            permissions: PermissionRules::default(),
            mode: None,
            settings: BTreeMap::new(),
            restore_after_seconds: 0,
            start_seconds: default_start_seconds(),
            restore_seconds: default_restore_seconds(),
            limits: ResourceLimits::default(),
            tools: ToolAccess::All,
            own_tools: Vec::new(),
        }
    }

    /// Returns the agent's whole environment: the passed variables of `server`, then the agent's own variables,
    /// which take precedence.
    pub fn environment(&self, server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        // The server's other variables are withheld, because they may contain secrets such as the database's password.
        let passed = PASSED_ENV
            .iter()
            .copied()
            .chain(self.pass_env.iter().map(String::as_str));
        let mut environment: BTreeMap<_, _> = passed
            .filter_map(|name| Some((name.to_owned(), server.get(name)?.clone())))
            .collect();
        environment.extend(self.env.clone());
        environment
    }
}

/// A configured agent, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The ID of the agent.
    pub id: AgentId,
    /// The name of the agent, unique within the tenant.
    pub name: String,
    /// The configuration that starts the agent.
    pub config: AgentConfig,
    /// The capabilities that the agent announced at its last start. `None` if the agent was never started.
    pub offers: Option<OfferedCapabilities>,
    /// The lowest document format that a server must support to use this agent. Servers below it leave the agent
    /// alone, because they would ignore settings that limit it.
    pub needs_format: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_environment_has_only_passed_and_named_variables() {
        let server = [("PATH", "/bin"), ("SECRET", "x"), ("API_KEY", "k")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let mut agent = AgentConfig::new(vec!["agent".into()]);
        agent.pass_env = vec!["API_KEY".into()];
        agent.env = [("PATH".to_owned(), "/opt/bin".to_owned())].into();
        let environment = agent.environment(&server);
        let shown: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(shown, ["API_KEY=k", "PATH=/opt/bin"]);
    }
}
