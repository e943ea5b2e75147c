//! A server's loops within this process.

use std::{path::Path, sync::Arc, time::Instant};

use agent::{Grace, GuardProgram};
use anyhow::Result;
use daemon::{Host, Settings, WorkerLock};
use model::{Clock, Timestamp};
use turn::Agents;

use super::world::{World, now};

/// The system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// A clock that goes on from an instant, so that what is due need not be waited for.
pub(crate) struct OffsetClock {
    from: Timestamp,
    started: Instant,
}

impl OffsetClock {
    /// Starts it.
    pub(crate) fn start(from: Timestamp) -> Self {
        Self {
            from,
            started: Instant::now(),
        }
    }
}

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        self.from + self.started.elapsed()
    }
}

/// What the loops of a server need.
pub(crate) fn host(
    world: &World,
    guard: GuardProgram,
    clock: Arc<dyn Clock>,
    settings: Settings,
    folder: &Path,
) -> Result<Host> {
    let worker_lock = WorkerLock::give(&folder.join("workers"), &world.worker)?;
    Ok(Host {
        store: world.store.clone(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&world.entropy),
        instance: world.instance,
        worker: world.worker.clone(),
        worker_lock: Arc::new(worker_lock),
        agents: Agents {
            guard,
            environment: std::env::vars().collect(),
            clock,
            entropy: Arc::clone(&world.entropy),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: Grace::default(),
        },
        settings,
        metrics: telemetry::Metrics::new(env!("CARGO_PKG_VERSION")),
    })
}

/// The same for loops that never start an agent, since there is no guard: a turn fails as soon as it has
/// begun.
pub(crate) fn host_without_agents(
    world: &World,
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
