//! Harnesses, and what a look at their agents finds.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use model::{
    HarnessId,
    harness::{self, RestoreBy},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PermissionRules, PermissionRulesRequest, document::same_fields, milliseconds};

/// A harness: how to start one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Harness {
    /// Its ID.
    pub id: HarnessId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// The configuration that starts the agent.
    pub config: HarnessConfig,
    /// The capabilities that the agent offered when it was last started. Null: it never was.
    pub offers: Option<Offers>,
}

impl From<harness::Harness> for Harness {
    fn from(harness: harness::Harness) -> Self {
        let harness::Harness {
            id,
            needs_format: _,
            name,
            config,
            offers,
        } = harness;
        Self {
            id,
            name,
            config: config.into(),
            offers: offers.map(Into::into),
        }
    }
}

/// The configuration that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HarnessConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The variables that are set in the agent's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The names of variables that the agent gets from the server's environment, beside the usual ones.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The ID of the way to sign in, for an agent that asks for one.
    #[serde(default)]
    pub authenticate: Option<String>,
    /// The request by which sessions are restored.
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
    /// The time after its first turn before which a session must not be restored, in seconds.
    #[serde(default)]
    pub restore_after_seconds: u32,
    /// The longest that the agent may take to start, and again to create a session, in seconds.
    pub start_seconds: u32,
    /// The longest that the agent may take to restore a session, and to apply its mode or a setting, in seconds.
    pub restore_seconds: u32,
    /// The limits of its processes.
    #[serde(default)]
    pub limits: ResourceLimits,
}

/// The configuration that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HarnessConfigRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The variables that are set in the agent's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The names of variables that the agent gets from the server's environment, beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// The ID of the way to sign in, for an agent that asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticate: Option<String>,
    /// The request by which sessions are restored. Default: `auto`.
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
    /// The time after its first turn before which a session must not be restored, in seconds. For agents that lose
    /// a session that is restored too soon. Default: 0.
    #[serde(default)]
    pub restore_after_seconds: u32,
    /// The longest that the agent may take to start, and again to create a session, in seconds. Default: 60.
    #[serde(default = "default_start_seconds")]
    pub start_seconds: u32,
    /// The longest that the agent may take to restore a session, and to apply its mode or a setting, in seconds.
    /// Default: 120.
    #[serde(default = "default_restore_seconds")]
    pub restore_seconds: u32,
    /// The limits of its processes.
    #[serde(default)]
    pub limits: ResourceLimitsRequest,
}

fn default_restore() -> RestoreBy {
    harness::HarnessConfig::new(Vec::new()).restore
}

fn default_start_seconds() -> u32 {
    harness::HarnessConfig::new(Vec::new()).start_seconds
}

fn default_restore_seconds() -> u32 {
    harness::HarnessConfig::new(Vec::new()).restore_seconds
}

macro_rules! config {
    ($($name:ident),*) => {$(
        impl From<harness::HarnessConfig> for $name {
            fn from(config: harness::HarnessConfig) -> Self {
                let harness::HarnessConfig {
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
                }
            }
        }

        impl From<$name> for harness::HarnessConfig {
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
                }
            }
        }
    )*};
}

config!(HarnessConfig, HarnessConfigRequest);

/// The limits of an agent's processes, for all of them together unless a field says otherwise. A limit of null
/// limits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Processor time, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// The longest file that a process may write, in bytes.
    pub file_bytes: Option<u64>,
}

/// The limits of an agent's processes, for all of them together unless a field says otherwise. A limit of null
/// limits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(default)]
pub struct ResourceLimitsRequest {
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Processor time, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// The longest file that a process may write, in bytes.
    pub file_bytes: Option<u64>,
}

same_fields! {
    harness::ResourceLimits, ResourceLimits {
        memory_bytes, processes, cpu_seconds, open_files, file_bytes
    }
    harness::ResourceLimits, ResourceLimitsRequest {
        memory_bytes, processes, cpu_seconds, open_files, file_bytes
    }
}

impl Default for ResourceLimits {
    fn default() -> Self {
        harness::ResourceLimits::default().into()
    }
}

impl Default for ResourceLimitsRequest {
    fn default() -> Self {
        harness::ResourceLimits::default().into()
    }
}

/// The capabilities that an agent offered when it was last started.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a flag for each"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Offers {
    /// The agent's own name.
    pub name: Option<String>,
    /// The agent's own version.
    pub version: Option<String>,
    /// `true` if it offers `session/resume`.
    pub resume: bool,
    /// `true` if it offers `session/load`.
    pub load: bool,
    /// `true` if it offers `session/list`.
    pub list: bool,
    /// `true` if it offers `session/close`.
    pub close: bool,
    /// `true` if it offers `session/delete`.
    pub delete: bool,
    /// The kinds of content that its prompts may hold beside text: `image`, `audio`, `resource`.
    pub prompts: Vec<String>,
    /// The transports by which it reaches MCP servers: `stdio`, which every agent has, `http`, `sse`.
    pub mcp: Vec<String>,
    /// The IDs of the ways to sign in.
    pub auth_methods: Vec<String>,
}

same_fields! {
    harness::Offers, Offers {
        name, version, resume, load, list, close, delete, prompts, mcp, auth_methods
    }
}

/// How far a look at an agent goes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// It introduces itself.
    Offers,
    /// It makes a session in an empty folder, which is taken away again. Agents ask no model for that.
    #[default]
    Session,
    /// It takes a short turn in that session, and another process of it takes the session up again.
    /// This costs a call of the model.
    Restore,
}

/// How an agent is to be looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CheckRequest {
    /// How far.
    pub depth: Depth,
}

/// What a look at an agent found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Probed {
    /// What it offers.
    #[serde(skip)]
    pub offers: harness::Offers,
    /// The version of the protocol that was agreed on.
    pub protocol_version: u64,
    /// The ways to sign in that it names.
    pub sign_in: Vec<SignIn>,
    /// How long it took to start and to introduce itself.
    #[serde(rename = "start_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
    pub start: Duration,
    /// The memory of all its processes after that, and after a session was made, in bytes.
    pub memory_bytes: Option<u64>,
    /// What became of a session, where one was asked for.
    pub session: Option<SessionProbe>,
    /// What became of taking it up again, where that was asked for.
    pub restore: Option<RestoreProbe>,
    /// Who holds its processes to their limits.
    pub limits_held_by: LimitsHeldBy,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    /// What a harness names.
    pub id: String,
    /// What people read.
    pub name: String,
    /// How it is done, in the agent's words.
    #[serde(default)]
    pub description: String,
    /// Whether a person must do it at a terminal.
    pub terminal: bool,
}

/// What became of the session of a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionProbe {
    /// It was made.
    Opened {
        /// How long that took.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
        /// The modes, the present one first.
        modes: Vec<String>,
        /// The settings with their present values.
        #[schema(value_type = Vec<Vec<String>>)]
        settings: Vec<(String, String)>,
        /// Whether the agent has deleted it again; one that offers no deleting keeps it.
        deleted: bool,
    },
    /// The agent wants a sign-in first.
    SignInNeeded,
    /// Anything else, in words.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What became of taking a session up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RestoreProbe {
    /// Another process of the agent has taken it up.
    Restored {
        /// How long the first process took for its turn.
        #[serde(rename = "turn_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        turn: Duration,
        /// How long the restore took.
        #[serde(rename = "took_ms", with = "milliseconds")]
        #[schema(value_type = u64)]
        took: Duration,
    },
    /// It did not come to that, in words.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Who holds an agent's processes to the limits of their harness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum LimitsHeldBy {
    /// The kernel, exactly.
    Kernel,
    /// Their guard, which looks once a second.
    Guard {
        /// Why the kernel does not.
        because: String,
    },
    /// Nobody has looked.
    #[default]
    Unknown,
}

/// What a look at the agent of a harness found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checked {
    /// The harness, with the offers as they are now kept.
    #[serde(flatten)]
    pub harness: Harness,
    /// What the look found beside.
    #[serde(flatten)]
    pub found: Probed,
    /// How to sign in, for agents of the catalogue.
    pub sign_in_hint: Option<String>,
    /// Whether its sessions can be restored in the way that the harness asks for.
    pub can_restore: bool,
    /// How long all of it took, with ending the agent.
    #[serde(rename = "took_ms", with = "milliseconds")]
    #[schema(value_type = u64)]
    pub took: Duration,
}

/// A harness with what the machine of the server has of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HarnessView {
    /// The harness.
    #[serde(flatten)]
    pub harness: Harness,
    /// What the machine has of its agent.
    #[serde(flatten)]
    pub presence: Presence,
}

/// What a machine has of an agent, seen without starting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Presence {
    /// Where its program is; absent if it is not installed, or not where its environment looks.
    #[schema(value_type = Option<String>)]
    pub program: Option<PathBuf>,
    /// What shows that somebody has signed in: a variable or a file. Absent if nothing does, which
    /// does not prove that nobody has.
    pub signed_in_by: Option<String>,
    /// How to sign in, for the catalogue's programs.
    pub sign_in: Option<String>,
    /// What installs it, for the catalogue's programs.
    pub install: Option<String>,
}
