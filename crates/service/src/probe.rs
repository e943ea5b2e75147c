//! Starting an agent only to see what it offers.

use std::{error::Error, future::Future, pin::Pin};

use model::harness::HarnessConfig;
use wire::{Depth, Probed};

/// Why an agent could not be started, in the words of whoever tried.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(#[from] pub Box<dyn Error + Send + Sync>);

/// The answer of a probe, to be awaited.
pub type Probing<'a> = Pin<Box<dyn Future<Output = Result<Probed, ProbeError>> + Send + 'a>>;

/// Starts agents. Whoever makes a [`crate::Service`] brings one, because this crate starts nothing.
pub trait Probe: Send + Sync {
    /// Starts the agent, looks as far as asked and ends it; nothing of it is left running.
    fn probe<'a>(&'a self, config: &'a HarnessConfig, depth: Depth) -> Probing<'a>;
}
