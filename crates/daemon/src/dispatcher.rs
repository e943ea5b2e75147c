//! The dispatcher: delivers runs as trigger files into the folders of their instances.
//!
//! **Invariant:** a run becomes `delivered` only after the write of its file is confirmed. A failed write is retried after a
//! pause, and the run shows the reason. All servers share the work: each file is claimed before it is written.

use std::{sync::Arc, time::Duration};

use model::{Timestamp, limits};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::deliveries::{Deliveries, OpenFolder};
use crate::{Error, Host, boxed, loop_runner::LoopBody};

/// Writes all files that are due. Returns the number of confirmed writes.
///
/// # Errors
///
/// Returns an error of the store. A file that cannot be written is no error: its run shows the reason.
#[boxed]
pub async fn deliver_due(host: &Host) -> Result<usize, Error> {
    let (stop, freed) = (CancellationToken::new(), Arc::new(Notify::new()));
    let deliveries = Deliveries::new(host.clone(), stop, freed);
    deliveries.deliver_due().await
}

/// After it has looked for due files, the dispatcher waits this many times as long as that took: it may read all queued runs
/// of an instance, and with thousands of them must leave the database to others.
const REST_PER_LOOK: u32 = 10;
/// The longest of these rests, so that one slow look delays no file by much.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// The dispatcher loop of one server. It starts the deliveries and does not wait for them, because a folder may hang.
pub(crate) struct Dispatcher {
    deliveries: Deliveries,
    tasks: TaskTracker,
    /// Ends the deliveries at once when cancelled.
    requeue: CancellationToken,
    rest_until: Instant,
}

impl Dispatcher {
    pub(crate) fn new(
        deliveries: Deliveries,
        tasks: TaskTracker,
        requeue: CancellationToken,
    ) -> Self {
        Self {
            deliveries,
            tasks,
            requeue,
            rest_until: Instant::now(),
        }
    }
}

impl LoopBody for Dispatcher {
    const NAME: &'static str = "dispatcher";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !self.deliveries.time_is_known() {
            return Ok(None);
        }
        let rested = sleep_until(self.rest_until);
        if self.deliveries.until_stopped(rested).await.is_none() {
            return Ok(None);
        }
        let began = Instant::now();
        let due = self.deliveries.start_due(now).await?;
        let rest = began.elapsed() * REST_PER_LOOK;
        self.rest_until = Instant::now() + rest.min(LONGEST_REST);
        let has_started = !due.tasks.is_empty();
        for task in due.tasks {
            let requeue = self.requeue.clone();
            self.tasks.spawn(async move {
                if let Some(Err(error)) = requeue.run_until_cancelled(task).await {
                    let error: &(dyn std::error::Error + 'static) = &error;
                    tracing::error!(error, "cannot deliver trigger files, will retry");
                }
            });
        }
        // A file that is still due after its delivery could not be claimed, for example because its row is corrupt: do not
        // spin.
        let retry = has_started.then(|| now + limits::TRIGGER_FILE_BACKOFF);
        Ok([due.next, retry].into_iter().flatten().min())
    }
}
