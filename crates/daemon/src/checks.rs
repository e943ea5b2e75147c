//! The checks of tasks: claims those whose directory is on this server, and runs their commands.
//!
//! **Invariants:** each command runs under a guard whose lease is shorter than the lease of the row, so that no process of a
//! lost worker is left when another server claims the checks. A stop of this server ends the commands and gives the checks
//! back. The commands are those of the team; no agent writes one.

mod runner;

use std::sync::Arc;

use model::{Timestamp, goal::ChecksJob};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Error, Host, LoopSignals, loop_runner::LoopBody};

pub use runner::run_claimed;

/// The number of tasks whose checks run at once. A check such as a build uses a whole machine.
const MAX_RUNNING_CHECKS: usize = 4;

/// Claims the checks of a task. The lease of the row is longer than that of the guard, as for runs.
async fn claim(host: &Host, task: model::TaskId) -> Result<Option<ChecksJob>, Error> {
    let Host {
        store,
        instance,
        worker,
        settings,
        ..
    } = host;
    let now = host.now();
    let until = now + settings.heartbeat_stale;
    Ok(store
        .claim_checks(task, *instance, worker, until, now)
        .await?)
}

/// The loop that starts checks. It does not wait for them.
pub(crate) struct ChecksRunner {
    host: Host,
    tasks: TaskTracker,
    /// Ends the commands when cancelled, and gives their checks back.
    stop: CancellationToken,
    slots: Arc<Semaphore>,
    /// Woken when checks have ended: a slot is free, and the goal may have started turns.
    signals: LoopSignals,
}

impl ChecksRunner {
    pub(crate) fn new(
        host: Host,
        tasks: TaskTracker,
        stop: CancellationToken,
        signals: LoopSignals,
    ) -> Self {
        Self {
            host,
            tasks,
            stop,
            slots: Arc::new(Semaphore::new(MAX_RUNNING_CHECKS)),
            signals,
        }
    }

    fn start(
        &self,
        job: ChecksJob,
        claim_sent_at: std::time::Duration,
        slot: OwnedSemaphorePermit,
    ) {
        let (host, stop) = (self.host.clone(), self.stop.clone());
        let signals = self.signals.clone();
        self.tasks.spawn(async move {
            let task = job.task;
            if let Err(error) = run_claimed(&host, &job, claim_sent_at, &stop).await {
                // The lease ends, and the checks are claimed again.
                log_error(&format!("run the checks of {task}"), &error);
            }
            drop(slot);
            signals.wake();
        });
    }
}

impl LoopBody for ChecksRunner {
    const NAME: &'static str = "checks";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let free = u32::try_from(self.slots.available_permits()).unwrap_or(u32::MAX);
        // A lease is judged by the clock alone.
        if free == 0 || !self.host.time_is_known() {
            return Ok(None);
        }
        let due = self
            .host
            .store
            .due_checks(self.host.instance, free, now)
            .await?;
        if due.is_empty() {
            return Ok(None);
        }
        // The commands of a dead worker must not run beside their repetition.
        let swept = self.host.worker_lock.kill_leftovers().await;
        swept.map_err(Error::LeftoverProcesses)?;
        for task in due {
            let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
                break;
            };
            let claim_sent_at = agent::uptime();
            match claim(&self.host, task).await {
                Ok(Some(job)) => self.start(job, claim_sent_at, slot),
                Ok(None) => {}
                // One task must not delay the others.
                Err(error) => log_error(&format!("claim the checks of {task}"), &error),
            }
        }
        Ok(None)
    }
}

fn log_error(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "cannot {what}");
}
