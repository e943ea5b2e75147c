//! What every loop of one server shares.

use std::{sync::Arc, time::Duration};

use model::{Clock, Entropy, InstanceId, Timestamp, WorkerId, allowance::Allowance, limits};
use store::Store;
use telemetry::Metrics;
use turn::Agents;

use crate::SignOfLife;

/// Knobs of the loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many turns run at once.
    pub workers: u32,
    /// How many turns that wait for people lend their slots to others.
    pub waiting_turns: u32,
    /// The longest sleep of the scheduler and of the workers: a net below the wake-ups.
    pub tick: Duration,
    /// The period of heartbeats.
    pub heartbeat: Duration,
    /// The age at which a heartbeat is stale and its run is given up.
    pub heartbeat_stale: Duration,
    /// The period of the watchdog.
    pub watchdog: Duration,
    /// How long running turns may take to end when the server stops.
    pub stop_deadline: Duration,
    /// How long the internal record of a run is kept after its end; none: for ever.
    pub retain_records: Option<Duration>,
    /// How long the events of a session's log are kept; none: for ever.
    pub retain_events: Option<Duration>,
    /// Where notifications may go beside the public internet.
    pub webhook_allow: Allowance,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: limits::WORKERS,
            waiting_turns: limits::WAITING_TURNS,
            tick: limits::TICK,
            heartbeat: limits::HEARTBEAT,
            heartbeat_stale: limits::HEARTBEAT_STALE,
            watchdog: limits::WATCHDOG,
            stop_deadline: limits::STOP_DEADLINE,
            retain_records: Some(limits::RETAIN_RECORDS),
            retain_events: Some(limits::RETAIN_EVENTS),
            webhook_allow: Allowance::default(),
        }
    }
}

impl Settings {
    /// How long after a heartbeat an agent may live: its guard kills it before the heartbeat is stale.
    pub fn lease(&self) -> Duration {
        let margin = limits::LEASE_MARGIN.min(self.heartbeat_stale / 4);
        self.heartbeat_stale.saturating_sub(margin)
    }

    /// How uncertain the time may be for a process that fires, claims and gives up by it. A heartbeat that is
    /// dated too early, and judged by somebody who is too late, must not look stale before the lease is over.
    pub fn clock_uncertainty(&self) -> Duration {
        let margin = self.heartbeat_stale.saturating_sub(self.lease());
        limits::CLOCK_UNCERTAINTY.min(margin / 2)
    }
}

/// Everything that the loops of one server need. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    /// The store.
    pub store: Store,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
    /// The place whose disk holds the agents' memories.
    pub instance: InstanceId,
    /// Who claims.
    pub worker: WorkerId,
    /// What shows other workers of the instance that this one lives.
    pub sign_of_life: Arc<SignOfLife>,
    /// How agents are started.
    pub agents: Agents,
    /// Knobs.
    pub settings: Settings,
    /// What is counted and timed.
    pub metrics: Metrics,
}

impl Host {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether the time is known well enough to judge by it. Where it is not, nothing is fired, claimed or
    /// given up by its heartbeat.
    pub fn knows_the_time(&self) -> bool {
        self.clock.uncertainty() <= self.settings.clock_uncertainty()
    }
}
