//! Builds the [`Host`]: the dependencies of the daemon and of single turns.

use std::sync::Arc;

use agent::GracePeriods;
use daemon::{Host, WorkerLock};
use model::WorkerId;

use crate::{error::Error, local_instance::LocalInstance, system::hostname};

/// Returns the dependencies of turns in this process, under a new worker ID. Creates and locks the file of this
/// worker in `workers/`, so that other processes can tell whether this worker is alive.
pub(crate) fn host(local: &LocalInstance) -> Result<Host, Error> {
    let settings = local.settings.clone();
    let worker = WorkerId::generate(&hostname(), std::process::id(), &*local.entropy);
    let workers = local.folder.workers_path();
    let worker_lock = WorkerLock::acquire(&workers, &worker);
    let worker_lock = worker_lock.map_err(|source| Error::File {
        action: "use the folder",
        path: workers,
        source,
    })?;
    Ok(Host {
        store: local.store.clone(),
        clock: local.clock.clone(),
        entropy: local.entropy.clone(),
        instance: local.instance,
        worker,
        worker_lock: Arc::new(worker_lock),
        agent_runtime: turn::AgentRuntime {
            guard: local.guard.clone(),
            environment: local.environment.clone(),
            clock: local.clock.clone(),
            entropy: local.entropy.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: GracePeriods::default(),
        },
        settings,
        metrics: telemetry::Metrics::new(env!("CARGO_PKG_VERSION")),
    })
}
