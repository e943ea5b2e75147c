//! Builds the [`Host`]: the dependencies of the daemon and of single turns.

use std::sync::Arc;

use agent::{GracePeriods, WorkerLock, is_worker_dead};
use daemon::{DirectTurnStores, Host};
use model::WorkerId;

use crate::{
    error::Error,
    local_instance::LocalInstance,
    service_tools::ServiceTools,
    system::hostname,
    tools_socket::{self, ToolsSocket},
};

/// Returns the dependencies of turns in this process, under a new worker ID, and the socket of the tools of their agents,
/// which serves until it is dropped. Creates and locks the file of this worker in `workers/`, so that other processes can
/// tell whether this worker is alive.
pub(crate) fn host(local: &LocalInstance) -> Result<(Host, ToolsSocket), Error> {
    let settings = local.settings.clone();
    let worker = WorkerId::generate(&hostname(), std::process::id(), &*local.entropy);
    let workers = local.folder.workers_path();
    let worker_lock = WorkerLock::acquire(&workers, &worker);
    let worker_lock = worker_lock.map_err(|source| Error::File {
        action: "use the folder",
        path: workers.clone(),
        source,
    })?;
    let folder = local.folder.path();
    tools_socket::remove_leftovers(folder, |name| {
        let other = WorkerId::from_stored(name.to_owned());
        // The lock file of a dead worker is removed in time.
        !workers.join(format!("{name}.lock")).exists() || is_worker_dead(&workers, &other)
    });
    let server = ServiceTools {
        service: local.service(),
        worker: worker.clone(),
        stale_after: settings.heartbeat_stale,
        zone: local.zone.clone(),
    };
    let listening = ToolsSocket::listen(folder, &worker, Arc::new(server));
    let (socket, tools) = listening.map_err(|source| Error::File {
        action: "listen in",
        path: folder.to_owned(),
        source,
    })?;
    let host = Host {
        store: local.store.clone(),
        clock: local.clock.clone(),
        entropy: local.entropy.clone(),
        instance: local.instance,
        worker,
        worker_lock: Arc::new(worker_lock),
        turn_stores: Arc::new(DirectTurnStores),
        agent_runtime: turn::AgentRuntime {
            guard: local.guard.clone(),
            environment: local.environment.clone(),
            clock: local.clock.clone(),
            entropy: local.entropy.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: GracePeriods::default(),
            tools: Some(tools),
        },
        artifacts: Some(local.content_folder()),
        settings,
        metrics: telemetry::Metrics::new(env!("CARGO_PKG_VERSION")),
    };
    Ok((host, socket))
}
