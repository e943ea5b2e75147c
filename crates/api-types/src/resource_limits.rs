//! The resource limits of agents.

use model::agent;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::document::same_fields;

/// The resource limits of an agent's processes. A limit applies to all of them together unless its description names
/// each process. Null means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ResourceLimits {
    /// The memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads.
    pub processes: Option<u64>,
    /// The processor time, in seconds.
    pub cpu_seconds: Option<u64>,
    /// The number of open files of each process.
    pub open_files: Option<u64>,
    /// The size of each file that a process writes, in bytes.
    pub file_bytes: Option<u64>,
}

/// The resource limits of an agent's processes. A limit applies to all of them together unless its description names
/// each process. Null means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(default)]
pub struct ResourceLimitsRequest {
    /// The memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads. Default: 4096.
    pub processes: Option<u64>,
    /// The processor time, in seconds.
    pub cpu_seconds: Option<u64>,
    /// The number of open files of each process.
    pub open_files: Option<u64>,
    /// The size of each file that a process writes, in bytes.
    pub file_bytes: Option<u64>,
}

same_fields! {
    agent::ResourceLimits, ResourceLimits {
        memory_bytes, processes, cpu_seconds, open_files, file_bytes
    }
    agent::ResourceLimits, ResourceLimitsRequest {
        memory_bytes, processes, cpu_seconds, open_files, file_bytes
    }
}

impl Default for ResourceLimits {
    fn default() -> Self {
        agent::ResourceLimits::default().into()
    }
}

impl Default for ResourceLimitsRequest {
    fn default() -> Self {
        agent::ResourceLimits::default().into()
    }
}
