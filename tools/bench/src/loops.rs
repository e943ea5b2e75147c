//! The parts of a server's loops, for benchmarks that run them in this process.

use std::{path::Path, sync::Arc, time::Instant};

use agent::{GracePeriods, GuardProgram, WorkerLock};
use anyhow::Result;
use daemon::{DirectTurnStores, Host, Settings};
use model::{Clock, Timestamp};
use turn::AgentRuntime;

use super::fixture::{Fixture, now};

/// The system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// A clock that starts at a chosen instant and runs at normal speed, so that a benchmark need not wait for its
/// instants.
pub(crate) struct OffsetClock {
    origin: Timestamp,
    started: Instant,
}

impl OffsetClock {
    /// Starts the clock at `from`.
    pub(crate) fn start(from: Timestamp) -> Self {
        Self {
            origin: from,
            started: Instant::now(),
        }
    }
}

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        self.origin + self.started.elapsed()
    }
}

/// Returns the parts that the loops of a server need.
pub(crate) fn host(
    world: &Fixture,
    guard: GuardProgram,
    clock: Arc<dyn Clock>,
    settings: Settings,
    folder: &Path,
) -> Result<Host> {
    let worker_lock = WorkerLock::acquire(&folder.join("workers"), &world.worker)?;
    Ok(Host {
        store: world.store.clone(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&world.entropy),
        instance: world.instance,
        worker: world.worker.clone(),
        worker_lock: Arc::new(worker_lock),
        turn_stores: Arc::new(DirectTurnStores),
        artifacts: None,
        agent_runtime: AgentRuntime {
            guard,
            environment: std::env::vars().collect(),
            clock,
            entropy: Arc::clone(&world.entropy),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: GracePeriods::default(),
            tools: None,
        },
        settings,
        metrics: telemetry::Metrics::new(env!("CARGO_PKG_VERSION")),
    })
}

/// Returns the parts for loops that cannot start an agent: the program of the guard does not exist, so a turn fails as
/// soon as it begins.
pub(crate) fn host_without_agents(
    world: &Fixture,
    clock: Arc<dyn Clock>,
    workers: u32,
    folder: &Path,
) -> Result<Host> {
    let guard = GuardProgram {
        program: folder.join("there-is-no-guard"),
        args: Vec::new(),
        worker: None,
    };
    let settings = Settings {
        workers,
        ..Settings::default()
    };
    host(world, guard, clock, settings, folder)
}
