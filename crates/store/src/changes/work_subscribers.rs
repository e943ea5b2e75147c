//! The subscriptions of the workers of this process, and the kinds of work that were signalled to each.

use std::sync::{
    Mutex, PoisonError, Weak,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// The kinds of work, by the names that the database uses in its notifications.
pub(super) const WORK_KINDS: [(&str, u8); 3] =
    [("queue", 1), ("schedule", 2), ("cancel", CANCEL_KIND)];
const CANCEL_KIND: u8 = 4;
/// All kinds of work.
pub(super) const ALL_KINDS: u8 = 7;

/// The subscriptions of all workers of this process.
#[derive(Debug, Default)]
pub(super) struct WorkSubscribers(pub(super) Mutex<Vec<Weak<WorkSubscriber>>>);

#[derive(Debug, Default)]
pub(super) struct WorkSubscriber {
    /// The kinds that were signalled since the last call of `WorkSubscription::next`.
    pub(super) kinds: AtomicU8,
    pub(super) wakeup: Notify,
}

impl WorkSubscriber {
    /// Signals some kinds of work to this worker.
    pub(super) fn signal(&self, kinds: u8) {
        self.kinds.fetch_or(kinds, Ordering::SeqCst);
        self.wakeup.notify_one();
    }
}

impl WorkSubscribers {
    /// Signals the kind that a notification names to all workers. Ignores an unknown kind.
    pub(super) fn signal(&self, kind: &str) {
        if let Some((_, kind)) = WORK_KINDS.iter().find(|(name, _)| *name == kind) {
            self.notify(*kind);
        }
    }

    /// Signals all kinds, because notifications may have been lost.
    pub(super) fn signal_all(&self) {
        self.notify(ALL_KINDS);
    }

    /// Signals all kinds but cancellations, for workers that poll. A turn learns of its cancellation with its
    /// heartbeat, which must not become more frequent because no connection can listen, or because another process
    /// writes into the same SQLite file.
    pub(super) fn signal_all_but_cancel(&self) {
        self.notify(ALL_KINDS & !CANCEL_KIND);
    }

    fn notify(&self, kinds: u8) {
        let mut subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|weak| {
            let subscriber = weak.upgrade();
            if let Some(subscriber) = &subscriber {
                subscriber.signal(kinds);
            }
            subscriber.is_some()
        });
    }
}
