//! The tasks of this process that wait for changes.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use tokio::{sync::Notify, task::JoinHandle};
use uuid::Uuid;

use super::{
    channels::Channels,
    listener_state::{ListenerState, ListenerStateCell},
    mutex::lock,
    work_subscribers::WorkSubscribers,
};
use crate::database::CommitObserver;

/// The maximum number of changed logs that are kept for a task. Beyond it, the task is woken for all logs.
const MAX_PENDING_LOGS: usize = 4096;

/// The changes since the last call of `Changes::next`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// `true` if anything may have changed, whatever `logs` holds.
    pub everything: bool,
    /// The sessions and the automations whose logs have grown, the sessions whose turns have written text, and the
    /// objects that were deleted.
    pub logs: HashSet<Uuid>,
}

impl ChangeSet {
    pub(super) fn is_empty(&self) -> bool {
        !self.everything && self.logs.is_empty()
    }

    pub(super) fn add(&mut self, logs: &[Uuid]) {
        if self.everything {
            return;
        }
        self.logs.extend(logs);
        if self.logs.len() > MAX_PENDING_LOGS {
            self.mark_everything();
        }
    }

    pub(super) fn mark_everything(&mut self) {
        self.everything = true;
        self.logs = HashSet::new();
    }
}

/// The tasks of this process that wait for changes of one database.
#[derive(Debug, Default)]
pub(crate) struct ChangeNotifier {
    pub(super) subscribers: Mutex<Subscribers>,
    /// The number of subscriptions, so that a commit without any subscription takes no lock.
    pub(super) subscriber_count: AtomicUsize,
    /// The number of transactions with a recorded change that this process has committed or is about to commit. On
    /// SQLite, each of them has taken a number.
    local_transactions: AtomicI64,
    pub(super) workers: WorkSubscribers,
    /// The sessions whose channels are listened to.
    pub(super) channels: Channels,
    pub(super) state: ListenerStateCell,
}

#[derive(Debug, Default)]
pub(super) struct Subscribers {
    pub(super) all: Vec<Arc<Subscriber>>,
    pub(super) watcher: Weak<Watcher>,
}

#[derive(Debug, Default)]
pub(super) struct Subscriber {
    pub(super) changed: Mutex<ChangeSet>,
    pub(super) wakeup: Notify,
}

impl Subscriber {
    pub(super) fn wake(&self, note: impl FnOnce(&mut ChangeSet)) {
        note(&mut lock(&self.changed));
        self.wakeup.notify_one();
    }
}

/// The task that watches for changes of other processes. It is aborted when its last subscription is dropped.
#[derive(Debug)]
pub(super) struct Watcher(pub(super) JoinHandle<()>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ChangeNotifier {
    /// Signals a queued run to the workers of this process, which learn by themselves only of runs of other processes.
    pub(crate) fn signal_local_queue(&self) {
        self.workers.signal("queue");
    }

    /// Wakes all tasks for some logs.
    pub(crate) fn wake(&self, logs: &[Uuid]) {
        // Every commit comes here, so take no lock while no task waits.
        if logs.is_empty() || self.subscriber_count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for subscriber in &lock(&self.subscribers).all {
            subscriber.wake(|changed| changed.add(logs));
        }
    }

    /// Wakes all tasks for all logs.
    pub(super) fn wake_all(&self) {
        for subscriber in &lock(&self.subscribers).all {
            subscriber.wake(ChangeSet::mark_everything);
        }
    }

    /// Returns the way in which this process notices the changes of other processes at this moment.
    pub(crate) fn listener_state(&self) -> ListenerState {
        let has_watcher = lock(&self.subscribers).watcher.strong_count() > 0;
        if has_watcher {
            self.state.get()
        } else {
            ListenerState::Idle
        }
    }

    pub(super) fn local_transactions(&self) -> i64 {
        self.local_transactions.load(Ordering::SeqCst)
    }
}

impl CommitObserver for ChangeNotifier {
    /// Counts a transaction before it is visible. Otherwise a poll between the commit and the count would take the
    /// transaction for another process's.
    fn before_commit(&self) {
        self.local_transactions.fetch_add(1, Ordering::SeqCst);
    }

    fn commit_failed(&self) {
        self.local_transactions.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the readers of the logs, even after a failed commit: the commit may have succeeded, and a reader that is
    /// woken without a change reads nothing new.
    fn after_commit(&self, changed: &[Uuid]) {
        self.wake(changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_changes_of_subscriber_are_bounded() {
        let mut changed = ChangeSet::default();
        let logs: Vec<Uuid> = (0..10_000).map(Uuid::from_u128).collect();
        for logs in logs.chunks(100) {
            changed.add(logs);
            assert!(changed.logs.len() <= MAX_PENDING_LOGS);
        }
        assert!(changed.everything && changed.logs.is_empty());
        changed.add(&logs);
        assert_eq!(changed.logs.capacity(), 0);
    }

    #[test]
    fn failed_commit_is_not_counted() {
        let notifier = ChangeNotifier::default();
        notifier.before_commit();
        notifier.after_commit(&[]);
        notifier.before_commit();
        assert_eq!(
            notifier.local_transactions(),
            2,
            "counted before it is visible"
        );
        notifier.commit_failed();
        assert_eq!(notifier.local_transactions(), 1);
    }
}
