//! Notification of workers: a worker loop waits here for work that another process has created.
//!
//! On PostgreSQL, the other process is usually a server, and its notification names the kind of work. On SQLite, it is
//! usually a command that found no server a moment ago, and the number of transactions does not tell the kind.

use std::sync::{Arc, atomic::Ordering};

use super::{
    mutex::lock,
    notifier::{ChangeNotifier, Watcher},
    watcher,
    work_subscribers::{ALL_KINDS, WORK_KINDS, WorkSubscriber},
};
use crate::{boxed, database::Database};

/// The kinds of work that may have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSignals {
    /// A run may be claimed.
    pub queue: bool,
    /// A trigger or a backoff is due earlier than before.
    pub schedule: bool,
    /// The cancellation of a running turn was requested.
    pub cancel: bool,
}

/// A worker's subscription to work that other processes create.
#[derive(Debug)]
pub struct WorkSubscription {
    subscriber: Arc<WorkSubscriber>,
    _watcher: Arc<Watcher>,
}

impl WorkSubscription {
    pub(crate) fn subscribe(notifier: &Arc<ChangeNotifier>, database: &Database) -> Self {
        let subscriber = Arc::new(WorkSubscriber::default());
        lock(&notifier.workers.0).push(Arc::downgrade(&subscriber));
        let watcher = watcher(notifier, database, &mut lock(&notifier.subscribers));
        // A watcher that runs already has noticed earlier changes without this subscriber.
        subscriber.signal(ALL_KINDS);
        Self {
            subscriber,
            _watcher: watcher,
        }
    }

    /// Waits until another process may have created work. The first call returns at once, so that the caller reads
    /// the work that was committed before the subscription. The future may be dropped without losing a signal.
    #[boxed]
    pub async fn next(&mut self) -> WorkSignals {
        loop {
            let kinds = self.subscriber.kinds.swap(0, Ordering::SeqCst);
            if kinds != 0 {
                let [queue, schedule, cancel] = WORK_KINDS.map(|(_, kind)| kinds & kind != 0);
                return WorkSignals {
                    queue,
                    schedule,
                    cancel,
                };
            }
            self.subscriber.wakeup.notified().await;
        }
    }
}
