//! The callers of tools.

use std::time::Duration;

use model::{RunId, WorkerId};

/// The process of an agent that calls a tool, as the worker of its turn knows it.
#[derive(Debug, Clone)]
pub struct ToolCaller {
    /// The run of the turn.
    pub run: RunId,
    /// The SHA-256 of the secret that the process showed.
    pub secret: [u8; 32],
    /// The worker that takes the turn.
    pub worker: WorkerId,
    /// The age at which the heartbeat of the run is stale.
    pub stale_after: Duration,
}
