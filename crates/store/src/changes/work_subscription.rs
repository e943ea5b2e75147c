//! Notification of workers: a worker loop waits here for work that another server has created.
//!
//! On SQLite, there is no other server: every writer is in this process, which signals its loops itself.

use std::sync::{Arc, atomic::Ordering};

use super::{
    mutex::lock,
    notifier::Watcher,
    work_subscribers::{WORK_KINDS, WorkSubscriber},
};
use crate::{boxed, database::Dialect, store::Store};

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

/// A worker's subscription to work that other servers create.
#[derive(Debug)]
pub struct WorkSubscription {
    subscriber: Arc<WorkSubscriber>,
    _watcher: Option<Arc<Watcher>>,
}

impl WorkSubscription {
    /// Waits until another server has created work. The future may be dropped without losing a signal.
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

impl Store {
    /// Subscribes to work that other servers create. On SQLite, there is none.
    ///
    /// Must be called inside a Tokio runtime.
    pub fn subscribe_work(&self) -> WorkSubscription {
        let subscriber = Arc::new(WorkSubscriber::default());
        let notifier = &self.change_notifier;
        let watcher = (self.db.dialect() == Dialect::Postgres).then(|| {
            lock(&notifier.workers.0).push(Arc::downgrade(&subscriber));
            self.watcher(&mut lock(&notifier.subscribers))
        });
        WorkSubscription {
            subscriber,
            _watcher: watcher,
        }
    }
}
