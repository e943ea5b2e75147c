//! The conditions under which all agents of a worker run.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agent::{GracePeriods, GuardProgram};
use model::{Clock, Entropy};

use crate::ToolGrants;

/// The conditions under which agents are started and kept alive.
#[derive(Clone)]
pub struct AgentRuntime {
    /// The command that starts guards.
    pub guard: GuardProgram,
    /// The server's environment, from which agents may pass on variables.
    pub environment: BTreeMap<String, String>,
    /// The clock. On PostgreSQL a `FleetClock`, which follows the database's clock, so that all servers agree.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness for the IDs of rows.
    pub entropy: Arc<dyn Entropy>,
    /// The period of heartbeats.
    pub heartbeat: Duration,
    /// The time that an agent may live after a heartbeat. It must be shorter than the age at which a heartbeat is
    /// stale, so that the agent is dead before another worker claims the run.
    pub lease: Duration,
    /// The limits of the steps of a shutdown.
    pub grace: GracePeriods,
    /// The way of agents to the tools that this process serves. `None`: agents get no tools.
    pub tools: Option<ToolGrants>,
}
