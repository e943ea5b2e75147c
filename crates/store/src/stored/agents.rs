//! The document `harnesses.config`: an agent's configuration, and the offers of its last start.

use std::collections::BTreeMap;

use model::{
    agent::{AgentConfig, OfferedCapabilities, ResourceLimits, RestoreBy},
    tools::ToolAccess,
};
use serde::{Deserialize, Serialize};

use super::{BoxError, Document, permissions::StoredPermissions};

/// An agent, as a row holds it.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct StoredAgent {
    config: StoredConfig,
    #[serde(default)]
    offers: Option<StoredOffers>,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct StoredConfig {
    command: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pass_env: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authenticate: Option<String>,
    #[serde(default = "restore_by_any")]
    restore: RestoreBy,
    #[serde(default)]
    permissions: StoredPermissions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    restore_after_seconds: u32,
    #[serde(default = "start_seconds")]
    start_seconds: u32,
    #[serde(default = "restore_seconds")]
    restore_seconds: u32,
    #[serde(default)]
    limits: StoredLimits,
    // Programs that do not know these keys give agents no tools.
    #[serde(default = "all_tools", skip_serializing_if = "is_all")]
    tools: ToolAccess,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own_tools: Vec<String>,
}

const fn all_tools() -> ToolAccess {
    ToolAccess::All
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_all(tools: &ToolAccess) -> bool {
    *tools == ToolAccess::All
}

const fn restore_by_any() -> RestoreBy {
    RestoreBy::Auto
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
const fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

fn start_seconds() -> u32 {
    AgentConfig::new(Vec::new()).start_seconds
}

fn restore_seconds() -> u32 {
    AgentConfig::new(Vec::new()).restore_seconds
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
struct StoredLimits {
    memory_bytes: Option<u64>,
    processes: Option<u64>,
    cpu_seconds: Option<u64>,
    open_files: Option<u64>,
    file_bytes: Option<u64>,
}

impl Default for StoredLimits {
    fn default() -> Self {
        Self::of(ResourceLimits::default())
    }
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has a flag for each"
)]
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct StoredOffers {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    version: Option<String>,
    resume: bool,
    load: bool,
    list: bool,
    close: bool,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    prompts: Vec<String>,
    #[serde(default)]
    mcp: Vec<String>,
    #[serde(default)]
    auth_methods: Vec<String>,
}

impl Document for StoredAgent {
    type Domain = (AgentConfig, Option<OfferedCapabilities>);

    fn of((config, offers): &(AgentConfig, Option<OfferedCapabilities>)) -> Self {
        Self {
            config: StoredConfig::of(config.clone()),
            offers: offers.clone().map(StoredOffers::of),
        }
    }

    fn into_domain(self) -> Result<Self::Domain, BoxError> {
        let offers = self.offers.map(StoredOffers::into_offers);
        Ok((self.config.into_config(), offers))
    }
}

impl StoredConfig {
    fn of(config: AgentConfig) -> Self {
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
            restore,
            permissions: StoredPermissions::of(&permissions),
            mode,
            settings,
            restore_after_seconds,
            start_seconds,
            restore_seconds,
            limits: StoredLimits::of(limits),
            tools,
            own_tools,
        }
    }

    fn into_config(self) -> AgentConfig {
        AgentConfig {
            command: self.command,
            env: self.env,
            pass_env: self.pass_env,
            authenticate: self.authenticate,
            restore: self.restore,
            permissions: self.permissions.into_rules(),
            mode: self.mode,
            settings: self.settings,
            restore_after_seconds: self.restore_after_seconds,
            start_seconds: self.start_seconds,
            restore_seconds: self.restore_seconds,
            limits: self.limits.into_limits(),
            tools: self.tools,
            own_tools: self.own_tools,
        }
    }
}

impl StoredLimits {
    fn of(limits: ResourceLimits) -> Self {
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

    fn into_limits(self) -> ResourceLimits {
        ResourceLimits {
            memory_bytes: self.memory_bytes,
            processes: self.processes,
            cpu_seconds: self.cpu_seconds,
            open_files: self.open_files,
            file_bytes: self.file_bytes,
        }
    }
}

impl StoredOffers {
    fn of(offers: OfferedCapabilities) -> Self {
        let OfferedCapabilities {
            name,
            version,
            resume,
            load,
            list,
            close,
            delete,
            prompts,
            mcp,
            auth_methods,
        } = offers;
        Self {
            name,
            version,
            resume,
            load,
            list,
            close,
            delete,
            prompts,
            mcp,
            auth_methods,
        }
    }

    fn into_offers(self) -> OfferedCapabilities {
        OfferedCapabilities {
            name: self.name,
            version: self.version,
            resume: self.resume,
            load: self.load,
            list: self.list,
            close: self.close,
            delete: self.delete,
            prompts: self.prompts,
            mcp: self.mcp,
            auth_methods: self.auth_methods,
        }
    }
}
