//! The signals that wake the loops.

use std::sync::Arc;

use store::WorkSubscription;
use tokio::sync::Notify;

/// Signals that wake the loops after a change in the database. Cheap to clone.
#[derive(Clone)]
pub struct LoopSignals {
    pub(crate) scheduler: Arc<Notify>,
    pub(crate) pool: Arc<Notify>,
    pub(crate) heartbeats: Arc<Notify>,
    pub(crate) notifier: Arc<Notify>,
    pub(crate) dispatcher: Arc<Notify>,
    pub(crate) checks: Arc<Notify>,
}

impl Default for LoopSignals {
    fn default() -> Self {
        Self {
            scheduler: Arc::new(Notify::new()),
            pool: Arc::new(Notify::new()),
            heartbeats: Arc::new(Notify::new()),
            notifier: Arc::new(Notify::new()),
            dispatcher: Arc::new(Notify::new()),
            checks: Arc::new(Notify::new()),
        }
    }
}

impl LoopSignals {
    /// Wakes every loop, because a trigger may be due, a run queued or a run cancelled.
    pub fn wake(&self) {
        self.scheduler.notify_one();
        self.wake_queue();
        self.heartbeats.notify_one();
        self.notifier.notify_one();
        self.checks.notify_one();
    }

    /// Wakes the loops that take queued runs.
    pub(crate) fn wake_queue(&self) {
        self.pool.notify_one();
        self.dispatcher.notify_one();
    }

    /// Wakes the loops when another process has created work: another server, or a command that found no server because
    /// this one was only starting. Never returns; the caller stops the future by dropping it.
    pub(crate) async fn forward_remote_work(self, mut work: WorkSubscription) {
        loop {
            let calls = work.next().await;
            if calls.schedule {
                self.scheduler.notify_one();
                self.checks.notify_one();
            }
            if calls.queue {
                self.wake_queue();
            }
            if calls.cancel {
                self.heartbeats.notify_one();
            }
        }
    }
}
