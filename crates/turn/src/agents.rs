//! What agents are started with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agent::{Grace, GuardProgram};
use model::{Clock, Entropy};

/// How agents are started, and what keeps them alive.
#[derive(Clone)]
pub struct Agents {
    /// How guards are started.
    pub guard: GuardProgram,
    /// The server's environment, from which harnesses may pass variables on.
    pub environment: BTreeMap<String, String>,
    /// The clock: on PostgreSQL a [`crate::FleetClock`].
    pub clock: Arc<dyn Clock>,
    /// Makes the ids of rows.
    pub entropy: Arc<dyn Entropy>,
    /// The period of heartbeats.
    pub heartbeat: Duration,
    /// How long after a heartbeat an agent may live: less than the age at which it is stale.
    pub lease: Duration,
    /// How long each step of a shutdown may take.
    pub grace: Grace,
}
