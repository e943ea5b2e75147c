//! Configured agents, and the results of checking them.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use model::{
    AgentId,
    agent::{self, RestoreBy},
    tools::ToolAccess,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    PermissionRules, PermissionRulesRequest, ResourceLimits, ResourceLimitsRequest,
    document::same_fields, milliseconds,
};

/// A configured agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// The ID of the agent.
    pub id: AgentId,
    /// The name of the agent, unique for the tenant.
    pub name: String,
    /// The configuration with which Matins starts the agent's process.
    pub config: AgentConfig,
    /// The capabilities that the agent offered at its last start. Null if the agent has never started.
    pub offers: Option<OfferedCapabilities>,
}

impl From<agent::Agent> for Agent {
    fn from(agent: agent::Agent) -> Self {
        let agent::Agent {
            id,
            needs_format: _,
            name,
            config,
            offers,
        } = agent;
        Self {
            id,
            name,
            config: config.into(),
            offers: offers.map(Into::into),
        }
    }
}

/// The configuration with which Matins starts the agent's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables for the agent's environment, with their values.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of variables that the agent gets from the server's environment, in addition to those that every agent
    /// gets.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The ID of the sign-in method, if the agent requires one.
    #[serde(default)]
    pub authenticate: Option<String>,
    /// The request of the protocol that restores a session.
    pub restore: RestoreBy,
    /// The rules that answer permission requests. A request that no rule covers is denied.
    #[serde(default)]
    pub permissions: PermissionRules,
    /// The mode of each session, by the agent's own ID.
    #[serde(default)]
    pub mode: Option<String>,
    /// The settings of each session, by the agent's own IDs.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The minimum time between a session's first turn and its first restore, in seconds.
    #[serde(default)]
    pub restore_after_seconds: u32,
    /// The maximum time for the agent to start, and again to create a session, in seconds.
    pub start_seconds: u32,
    /// The maximum time for the agent to restore a session, and to apply a mode or a setting, in seconds.
    pub restore_seconds: u32,
    /// The resource limits of the agent's processes.
    #[serde(default)]
    pub limits: ResourceLimits,
    /// The tools of Matins that the agent gets.
    #[serde(default = "all_tools")]
    pub tools: ToolAccess,
    /// The titles of the agent's permission requests for tools of Matins, with `{tool}` where the name of the tool
    /// stands. Such a request is allowed once, unless a rule denies it.
    #[serde(default)]
    pub own_tools: Vec<String>,
}

/// The configuration with which Matins starts the agent's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfigRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables for the agent's environment, with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables that the agent gets from the server's environment, in addition to those that every agent
    /// gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// The ID of the sign-in method, if the agent requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticate: Option<String>,
    /// The request of the protocol that restores a session. Default: `auto`.
    #[serde(default = "default_restore")]
    pub restore: RestoreBy,
    /// The rules that answer permission requests. A request that no rule covers is denied.
    #[serde(default)]
    pub permissions: PermissionRulesRequest,
    /// The mode of each session, by the agent's own ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The settings of each session, by the agent's own IDs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The minimum time between a session's first turn and its first restore, in seconds, because some agents lose a
    /// session that is restored too soon. Default: 0.
    #[serde(default)]
    pub restore_after_seconds: u32,
    /// The maximum time for the agent to start, and again to create a session, in seconds. Default: 60.
    #[serde(default = "default_start_seconds")]
    pub start_seconds: u32,
    /// The maximum time for the agent to restore a session, and to apply a mode or a setting, in seconds. Default:
    /// 120.
    #[serde(default = "default_restore_seconds")]
    pub restore_seconds: u32,
    /// The resource limits of the agent's processes.
    #[serde(default)]
    pub limits: ResourceLimitsRequest,
    /// The tools of Matins that the agent gets. Default: `all`.
    #[serde(default = "all_tools")]
    pub tools: ToolAccess,
    /// The titles of the agent's permission requests for tools of Matins, with `{tool}` where the name of the tool
    /// stands. Such a request is allowed once, unless a rule denies it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_tools: Vec<String>,
}

const fn all_tools() -> ToolAccess {
    ToolAccess::All
}

fn default_restore() -> RestoreBy {
    agent::AgentConfig::new(Vec::new()).restore
}

fn default_start_seconds() -> u32 {
    agent::AgentConfig::new(Vec::new()).start_seconds
}

fn default_restore_seconds() -> u32 {
    agent::AgentConfig::new(Vec::new()).restore_seconds
}

macro_rules! config {
    ($($name:ident),*) => {$(
        impl From<agent::AgentConfig> for $name {
            fn from(config: agent::AgentConfig) -> Self {
                let agent::AgentConfig {
                    command,
                    env,
                    pass_env,
                    authenticate,
                    restore,
                    permissions,
                    mode,
                    settings,
                    restore_after_seconds,
                    start_seconds,
                    restore_seconds,
                    limits,
                    tools,
                    own_tools,
                } = config;
                Self {
                    command,
                    env,
                    pass_env,
                    authenticate,
                    restore,
                    permissions: permissions.into(),
                    mode,
                    settings,
                    restore_after_seconds,
                    start_seconds,
                    restore_seconds,
                    limits: limits.into(),
                    tools,
                    own_tools,
                }
            }
        }

        impl From<$name> for agent::AgentConfig {
            fn from(config: $name) -> Self {
                let $name {
                    command,
                    env,
                    pass_env,
                    authenticate,
                    restore,
                    permissions,
                    mode,
                    settings,
                    restore_after_seconds,
                    start_seconds,
                    restore_seconds,
                    limits,
                    tools,
                    own_tools,
                } = config;
                Self {
                    command,
                    env,
                    pass_env,
                    authenticate,
                    restore,
                    permissions: permissions.into(),
                    mode,
                    settings,
                    restore_after_seconds,
                    start_seconds,
                    restore_seconds,
                    limits: limits.into(),
                    tools,
                    own_tools,
                }
            }
        }
    )*};
}

config!(AgentConfig, AgentConfigRequest);

/// The capabilities that an agent offered at its last start.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a flag for each"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct OfferedCapabilities {
    /// The name that the agent reports. Null if the agent reports none.
    pub name: Option<String>,
    /// The version that the agent reports. Null if the agent reports none.
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
    /// The kinds of content that prompts may contain in addition to text: `image`, `audio`, `resource`.
    pub prompts: Vec<String>,
    /// The transports by which the agent connects to MCP servers: `stdio` (always), `http`, `sse`.
    pub mcp: Vec<String>,
    /// The IDs of the sign-in methods.
    pub auth_methods: Vec<String>,
}

same_fields! {
    agent::OfferedCapabilities, OfferedCapabilities {
        name, version, resume, load, list, close, delete, prompts, mcp, auth_methods
    }
}

/// The depth of an agent check. Each depth includes the ones before it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CheckDepth {
    /// The check starts the agent and reads its capabilities.
    Offers,
    /// The check creates a session in an empty folder, and then removes the folder. Agents call no model for this.
    #[default]
    Session,
    /// The check runs a short turn in that session, and restores the session in another process of the agent. The
    /// turn costs a call of the model.
    Restore,
}

/// A request that checks an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckRequest {
    /// The depth of the check. Default: `session`.
    pub depth: CheckDepth,
}

/// The findings of an agent check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckFindings {
    /// The capabilities that the agent offers. The response has them in the agent.
    #[serde(skip)]
    pub offers: agent::OfferedCapabilities,
    /// The version of the protocol that Matins and the agent agreed on.
    pub protocol_version: u64,
    /// The sign-in methods that the agent offers.
    pub sign_in: Vec<SignIn>,
    /// The time from the start of the agent to the end of its initialization, in milliseconds.
    #[serde(rename = "start_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
    pub start: Duration,
    /// The memory of all processes of the agent, in bytes, measured after the session was created if the check
    /// creates one. Null if the measurement failed.
    pub memory_bytes: Option<u64>,
    /// The outcome of creating a session. Null if the depth does not include it.
    pub session: Option<SessionProbe>,
    /// The outcome of restoring the session. Null if the depth does not include it, or if no session was created.
    pub restore: Option<RestoreProbe>,
    /// The mechanism that enforces the resource limits.
    pub limits_enforced_by: LimitsEnforcedBy,
}

/// A sign-in method of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    /// The ID of the method, for `authenticate` of an agent.
    pub id: String,
    /// The name of the method, for people.
    pub name: String,
    /// The agent's description of the method.
    #[serde(default)]
    pub description: String,
    /// `true` if a person must sign in at a terminal.
    pub terminal: bool,
}

/// The outcome of creating a session during a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionProbe {
    /// The agent created the session.
    Opened {
        /// The time that the agent took, in milliseconds.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
        /// The IDs of the modes, the current one first.
        modes: Vec<String>,
        /// The IDs of the settings, each with its current value.
        #[schema(value_type = Vec<Vec<String>>)]
        settings: Vec<(String, String)>,
        /// `true` if the agent deleted the session after the check. An agent without `session/delete` keeps the
        /// session.
        deleted: bool,
    },
    /// The agent requires a sign-in before it creates sessions.
    SignInNeeded,
    /// The agent created no session for another reason.
    Failed {
        /// The reason, as text for people.
        reason: String,
    },
}

/// The outcome of restoring a session during a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RestoreProbe {
    /// Another process of the agent restored the session.
    Restored {
        /// The time that the turn in the first process took, in milliseconds.
        #[serde(rename = "turn_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        turn: Duration,
        /// The time that the restore took, in milliseconds.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
    },
    /// The turn or the restore failed.
    Failed {
        /// The reason, as text for people.
        reason: String,
    },
}

/// The mechanism that enforces the resource limits of an agent's processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum LimitsEnforcedBy {
    /// The kernel enforces the limits exactly.
    Kernel,
    /// The guard process enforces the limits and measures once a second.
    Guard {
        /// The reason why the kernel does not enforce the limits.
        because: String,
    },
    /// The mechanism was not determined.
    #[default]
    Unknown,
}

/// The response to an agent check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckResponse {
    /// The agent, with the capabilities that the check stored.
    #[serde(flatten)]
    pub agent: Agent,
    /// The other findings of the check.
    #[serde(flatten)]
    pub findings: CheckFindings,
    /// Instructions for signing in. Null if the catalogue does not have the agent.
    pub sign_in_hint: Option<String>,
    /// `true` if the agent offers the request that `restore` of its configuration names.
    pub can_restore: bool,
    /// The duration of the whole check, with the end of the agent, in milliseconds.
    #[serde(rename = "took_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
    pub took: Duration,
}

/// A configured agent, and its installation on the server's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// The agent.
    #[serde(flatten)]
    pub agent: Agent,
    /// The installation of the agent's program on the server's machine.
    #[serde(flatten)]
    pub installation: AgentInstallation,
}

/// The installation of an agent's program on a machine. Matins determines it without starting the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentInstallation {
    /// The path of the agent's program. Null if the program is not installed, or is not in the `PATH` of the agent.
    #[schema(value_type = Option<String>)]
    pub program: Option<PathBuf>,
    /// The variable or the file that indicates a sign-in. Null if there is none, which does not prove that the agent
    /// is signed out.
    pub signed_in_by: Option<String>,
    /// Instructions for signing in. Null if the catalogue does not have the agent.
    pub sign_in: Option<String>,
    /// Instructions for installing the agent. Null if the catalogue does not have the agent.
    pub install: Option<String>,
}
