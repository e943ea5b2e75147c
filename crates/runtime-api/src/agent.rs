//! The configuration of an agent, and the rules of permission requests.

use std::collections::BTreeMap;

use model::{
    agent::{AgentConfig, ResourceLimits, RestoreBy},
    permission::{PermissionRule, PermissionRules, Verdict},
    tools::ToolAccess,
};
use serde::{Deserialize, Serialize};

use crate::word::Word;

/// The configuration that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    pass_env: Vec<String>,
    #[serde(default)]
    authenticate: Option<String>,
    restore: Word,
    #[serde(default)]
    permissions: Vec<Rule>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    restore_after_seconds: u32,
    start_seconds: u32,
    restore_seconds: u32,
    limits: Limits,
    tools: Word,
    #[serde(default)]
    own_tools: Vec<String>,
}

/// The resource limits of an agent. A limit that is absent or null does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Limits {
    memory_bytes: Option<u64>,
    processes: Option<u64>,
    cpu_seconds: Option<u64>,
    open_files: Option<u64>,
    file_bytes: Option<u64>,
}

/// A rule that answers permission requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    tool: String,
    title: Option<String>,
    verdict: Word,
}

impl Agent {
    /// Returns the configuration.
    pub fn into_domain(self) -> AgentConfig {
        let Self {
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
        } = self;
        AgentConfig {
            command,
            env,
            pass_env,
            authenticate,
            restore: restore.or(RestoreBy::Auto),
            permissions: rules_into_domain(permissions),
            mode,
            settings,
            restore_after_seconds,
            start_seconds,
            restore_seconds,
            limits: limits.into_domain(),
            tools: tools.or(ToolAccess::None),
            own_tools,
        }
    }
}

impl From<AgentConfig> for Agent {
    fn from(config: AgentConfig) -> Self {
        let AgentConfig {
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
            restore: Word::of(restore),
            permissions: rules_of_domain(permissions),
            mode,
            settings,
            restore_after_seconds,
            start_seconds,
            restore_seconds,
            limits: limits.into(),
            tools: Word::of(tools),
            own_tools,
        }
    }
}

impl Limits {
    fn into_domain(self) -> ResourceLimits {
        let Self {
            memory_bytes,
            processes,
            cpu_seconds,
            open_files,
            file_bytes,
        } = self;
        ResourceLimits {
            memory_bytes,
            processes,
            cpu_seconds,
            open_files,
            file_bytes,
        }
    }
}

impl From<ResourceLimits> for Limits {
    fn from(limits: ResourceLimits) -> Self {
        let ResourceLimits {
            memory_bytes,
            processes,
            cpu_seconds,
            open_files,
            file_bytes,
        } = limits;
        Self {
            memory_bytes,
            processes,
            cpu_seconds,
            open_files,
            file_bytes,
        }
    }
}

pub(crate) fn rules_of_domain(rules: PermissionRules) -> Vec<Rule> {
    let rules = rules.0.into_iter().map(|rule| {
        let PermissionRule {
            tool,
            title,
            verdict,
        } = rule;
        Rule {
            tool,
            title,
            verdict: Word::of(verdict),
        }
    });
    rules.collect()
}

pub(crate) fn rules_into_domain(rules: Vec<Rule>) -> PermissionRules {
    let rules = rules.into_iter().map(|rule| {
        let Rule {
            tool,
            title,
            verdict,
        } = rule;
        PermissionRule {
            tool,
            title,
            // A rule of a later version may allow less than it seems to.
            verdict: verdict.or(Verdict::Deny),
        }
    });
    PermissionRules(rules.collect())
}
