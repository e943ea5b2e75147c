//! The settings and the shared resources of the loops of one server.

use std::{sync::Arc, time::Duration};

use agent::WorkerLock;
use artifacts::ContentFolder;
use model::{Clock, Entropy, InstanceId, Timestamp, WorkerId, allowlist::Allowlist, limits};
use store::Store;
use telemetry::Metrics;
use turn::{AgentRuntime, TurnStore};

/// The settings of the loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The number of slots: the highest number of turns that run at once.
    pub workers: u32,
    /// The highest number of turns that lend their slots to other turns while they wait for an approval.
    pub waiting_turns: u32,
    /// The longest sleep of the scheduler, the workers and the notifier. It bounds the delay if a wake-up is lost.
    pub tick: Duration,
    /// The period of heartbeats.
    pub heartbeat: Duration,
    /// The age at which a heartbeat is stale, so that the watchdog gives its run up.
    pub heartbeat_stale: Duration,
    /// The longest time between two ticks of the watchdog.
    pub watchdog: Duration,
    /// The time that running turns get to end when the server stops.
    pub stop_deadline: Duration,
    /// The time that the internal record of a run is kept after its end. `None` keeps records forever.
    pub retain_records: Option<Duration>,
    /// The time that events are kept in the logs of sessions and automations. `None` keeps events forever.
    pub retain_events: Option<Duration>,
    /// The addresses outside the public internet to which notifications may be sent.
    pub webhook_allow: Allowlist,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: limits::DEFAULT_WORKERS,
            waiting_turns: limits::DEFAULT_WAITING_TURNS,
            tick: limits::SCHEDULER_POLL_INTERVAL,
            heartbeat: limits::HEARTBEAT_INTERVAL,
            heartbeat_stale: limits::HEARTBEAT_STALE_AFTER,
            watchdog: limits::WATCHDOG_INTERVAL,
            stop_deadline: limits::STOP_DEADLINE,
            retain_records: Some(limits::RETAIN_RECORDS),
            retain_events: Some(limits::RETAIN_EVENTS),
            webhook_allow: Allowlist::default(),
        }
    }
}

impl Settings {
    /// Returns the time that an agent may live after a heartbeat. It is shorter than `heartbeat_stale`, so that the
    /// guard kills the agent before the watchdog gives the run to another worker.
    pub fn lease(&self) -> Duration {
        let margin = limits::LEASE_MARGIN.min(self.heartbeat_stale / 4);
        self.heartbeat_stale.saturating_sub(margin)
    }

    /// Returns the highest uncertainty of the clock at which this process may fire, claim and give up runs. Two
    /// clocks can be wrong in opposite directions: the worker dates a heartbeat too early, and the watchdog of
    /// another server judges it too late. So each clock gets half of the difference between staleness and lease;
    /// otherwise a heartbeat could look stale while the lease that it renewed still lets the agent live.
    pub fn clock_uncertainty(&self) -> Duration {
        let margin = self.heartbeat_stale.saturating_sub(self.lease());
        limits::MAX_CLOCK_UNCERTAINTY.min(margin / 2)
    }
}

/// Opens the storage of turns. Servers use [`DirectTurnStores`](crate::DirectTurnStores); tests also use the API, so that
/// one suite holds both storages to the same behaviour.
pub trait TurnStores: Send + Sync {
    /// Returns the storage of turns of the worker of `host`. It refuses a run if `directory`, which a person gave the
    /// session, is not on this machine.
    fn open(&self, host: &Host, directory: Option<String>) -> Box<dyn TurnStore>;
}

/// The resources that the loops of one server share. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    /// The store.
    pub store: Store,
    /// The clock: on PostgreSQL a [`crate::FleetClock`].
    pub clock: Arc<dyn Clock>,
    /// The source of the randomness in IDs.
    pub entropy: Arc<dyn Entropy>,
    /// The instance that this server serves, whose data folder holds the memories of its agents.
    pub instance: InstanceId,
    /// The name under which this server claims runs.
    pub worker: WorkerId,
    /// The file lock that proves to other workers of the instance that this process lives.
    pub worker_lock: Arc<WorkerLock>,
    /// Opens the storage of each turn.
    pub turn_stores: Arc<dyn TurnStores>,
    /// The settings with which turns start agents.
    pub agent_runtime: AgentRuntime,
    /// The folder with the contents of artifacts. `None` if this process keeps none.
    pub artifacts: Option<ContentFolder>,
    /// The settings of the loops.
    pub settings: Settings,
    /// The metrics of this process.
    pub metrics: Metrics,
}

impl Host {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// `true` if the clock is certain enough to judge heartbeats and due instants by it. While it is `false`, the
    /// server fires no trigger, claims no run, renews no heartbeat and gives up no run because of its heartbeat.
    pub fn time_is_known(&self) -> bool {
        self.clock.uncertainty() <= self.settings.clock_uncertainty()
    }
}
