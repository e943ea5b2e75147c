//! Harnesses: how to start one ACP agent.

use std::collections::BTreeMap;

use crate::{ids::HarnessId, permission::PermissionRules, text_enum::text_enum};

text_enum! {
    /// By which request a session is restored.
    RestoreBy, "a way to restore" {
        /// By `session/resume` where the agent offers it, else by `session/load`.
        Auto = "auto",
        /// By `session/resume` only.
        Resume = "resume",
        /// By `session/load` only.
        Load = "load",
    }
}

/// What an agent offered when it was last started.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a flag for each"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// The agent's own name.
    pub name: Option<String>,
    /// The agent's own version.
    pub version: Option<String>,
    /// Whether it offers `session/resume`.
    pub resume: bool,
    /// Whether it offers `session/load`.
    pub load: bool,
    /// Whether it offers `session/list`.
    pub list: bool,
    /// Whether it offers `session/close`.
    pub close: bool,
    /// Whether it offers `session/delete`.
    pub delete: bool,
    /// What prompts may hold beside text: `image`, `audio`, `resource`.
    pub prompts: Vec<String>,
    /// By what MCP servers may be reached: `stdio`, which every agent has, `http`, `sse`.
    pub mcp: Vec<String>,
    /// The ids of the ways to sign in that it names.
    pub auth_methods: Vec<String>,
}

impl Offers {
    /// Whether a session can be restored in the way that the harness asks for.
    pub const fn can_restore(&self, by: RestoreBy) -> bool {
        match by {
            RestoreBy::Auto => self.resume || self.load,
            RestoreBy::Resume => self.resume,
            RestoreBy::Load => self.load,
        }
    }
}

/// What an agent's processes may use, all of them together unless said otherwise. Without a number
/// there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Time on a processor, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Open files, of each process.
    pub open_files: Option<u64>,
    /// The longest file that a process may write, in bytes.
    pub file_bytes: Option<u64>,
}

/// So many processes and threads that no honest agent is held up, and few enough that a machine
/// survives one that multiplies without end.
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

/// Everything that starting an agent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarnessConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables that the agent's environment gets.
    pub env: BTreeMap<String, String>,
    /// Names of variables that it gets from the server's environment, beyond [`PASSED_ENV`].
    pub pass_env: Vec<String>,
    /// The id of the way to sign in, where the agent asks for one.
    pub authenticate: Option<String>,
    /// By which request sessions are restored.
    pub restore: RestoreBy,
    /// Rules that answer permission requests; what no rule covers is denied.
    pub permissions: PermissionRules,
    /// The mode that a session is set to, in the agent's own id.
    pub mode: Option<String>,
    /// Settings that a session is given, in the agent's own ids and values.
    pub settings: BTreeMap<String, String>,
    /// How long after its first turn a session may be restored at the earliest, in seconds: for agents
    /// that lose a session which is restored too soon.
    pub restore_after_seconds: u32,
    /// The longest that the agent may take to start and introduce itself, and again to make a session,
    /// in seconds.
    pub start_seconds: u32,
    /// The longest that it may take to restore a session, and for its mode or a setting, in seconds.
    pub restore_seconds: u32,
    /// What its processes may use.
    pub limits: ResourceLimits,
}

/// Variables of the server's environment that every agent gets, where they are set.
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

impl HarnessConfig {
    /// A harness that runs `command` and asks for nothing else.
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
        }
    }

    /// The agent's whole environment: the passed variables of `server`'s, then the harness's own.
    pub fn environment(&self, server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
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

/// A harness as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harness {
    /// Its id.
    pub id: HarnessId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// How to start the agent.
    pub config: HarnessConfig,
    /// What the agent offered when it was last started; `None` if it never was.
    pub offers: Option<Offers>,
    /// The least document format whose servers honour it, all its documents included.
    pub needs_format: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_only_what_is_passed_or_named() {
        let server = [("PATH", "/bin"), ("SECRET", "x"), ("API_KEY", "k")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let mut harness = HarnessConfig::new(vec!["agent".into()]);
        harness.pass_env = vec!["API_KEY".into()];
        harness.env = [("PATH".to_owned(), "/opt/bin".to_owned())].into();
        let environment = harness.environment(&server);
        let shown: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(shown, ["API_KEY=k", "PATH=/opt/bin"]);
    }
}
