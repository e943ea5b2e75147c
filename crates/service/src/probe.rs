//! Starting an agent only to see what it offers.

use std::{error::Error, future::Future, pin::Pin};

use model::harness::{HarnessConfig, Offers};
use serde::Serialize;

/// What an agent said when it was started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probed {
    /// What it offers.
    pub offers: Offers,
    /// The ways to sign in that it names.
    pub sign_in: Vec<SignIn>,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignIn {
    /// What a harness names.
    pub id: String,
    /// What people read.
    pub name: String,
    /// Whether a person must do it at a terminal.
    pub terminal: bool,
}

/// Why an agent could not be started, in the words of whoever tried.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(#[from] pub Box<dyn Error + Send + Sync>);

/// The answer of a probe, to be awaited.
pub type Probing<'a> = Pin<Box<dyn Future<Output = Result<Probed, ProbeError>> + Send + 'a>>;

/// Starts agents. Whoever makes a [`crate::Service`] brings one, because this crate starts nothing.
pub trait Probe: Send + Sync {
    /// Starts the agent, lets it introduce itself and ends it; nothing of it is left running.
    fn probe<'a>(&'a self, config: &'a HarnessConfig) -> Probing<'a>;
}
