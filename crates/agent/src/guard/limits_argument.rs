//! The limits of an agent's processes as one argument of the guard. The format needs no version, because worker and
//! guard are the same program.

use model::agent::ResourceLimits;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct LimitsArgument {
    memory_bytes: Option<u64>,
    processes: Option<u64>,
    cpu_seconds: Option<u64>,
    open_files: Option<u64>,
    file_bytes: Option<u64>,
}

/// Formats limits as an argument.
pub(super) fn to_argument(limits: ResourceLimits) -> serde_json::Result<String> {
    let ResourceLimits {
        memory_bytes,
        processes,
        cpu_seconds,
        open_files,
        file_bytes,
    } = limits;
    serde_json::to_string(&LimitsArgument {
        memory_bytes,
        processes,
        cpu_seconds,
        open_files,
        file_bytes,
    })
}

/// Parses limits from an argument.
pub(super) fn from_argument(argument: &str) -> serde_json::Result<ResourceLimits> {
    let limits: LimitsArgument = serde_json::from_str(argument)?;
    Ok(ResourceLimits {
        memory_bytes: limits.memory_bytes,
        processes: limits.processes,
        cpu_seconds: limits.cpu_seconds,
        open_files: limits.open_files,
        file_bytes: limits.file_bytes,
    })
}
