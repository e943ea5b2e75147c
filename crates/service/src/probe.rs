//! The port through which this crate starts an agent to find out its capabilities.

use std::{error::Error, future::Future, pin::Pin};

use api_types::{CheckDepth, CheckFindings};
use model::agent::AgentConfig;

/// The reason for which an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(#[from] pub Box<dyn Error + Send + Sync>);

/// The future of a probe.
pub type ProbeFuture<'a> =
    Pin<Box<dyn Future<Output = Result<CheckFindings, ProbeError>> + Send + 'a>>;

/// Starts agents. The caller of [`crate::Service::new`] provides an implementation, because this crate starts no
/// processes.
pub trait Probe: Send + Sync {
    /// Starts the agent, examines it to the given depth, and ends it. Afterwards none of its processes runs.
    fn probe<'a>(&'a self, config: &'a AgentConfig, depth: CheckDepth) -> ProbeFuture<'a>;
}
