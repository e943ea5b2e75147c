//! Everybody in this process who waits for changes.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use tokio::{sync::Notify, task::JoinHandle};
use uuid::Uuid;

use super::{channels::Channels, mutex::lock, state::State, workers::Workers};
use crate::database::CommitObserver;

/// How many logs wait for a sleeper by their ids; beyond that, it is woken for everything.
const PENDING: usize = 4096;

/// What has changed since the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Anything may have changed, whatever is in `logs`.
    pub everything: bool,
    /// The sessions and the automations whose logs have grown, the sessions whose turns have written more
    /// text, and those that are gone.
    pub logs: HashSet<Uuid>,
}

impl Changed {
    pub(super) fn is_empty(&self) -> bool {
        !self.everything && self.logs.is_empty()
    }

    pub(super) fn add(&mut self, logs: &[Uuid]) {
        if self.everything {
            return;
        }
        self.logs.extend(logs);
        if self.logs.len() > PENDING {
            self.everything();
        }
    }

    pub(super) fn everything(&mut self) {
        self.everything = true;
        self.logs = HashSet::new();
    }
}

/// Everybody who waits for changes of one database in this process.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    pub(super) sleepers: Mutex<Sleepers>,
    /// How many sleepers there are.
    pub(super) waiting: AtomicUsize,
    /// How many transactions this process has committed that noted a change, or is about to. On SQLite each of them
    /// has taken a number.
    own: AtomicI64,
    pub(super) workers: Workers,
    /// Which sessions' channels are listened to.
    pub(super) channels: Channels,
    pub(super) state: State,
}

#[derive(Debug, Default)]
pub(super) struct Sleepers {
    pub(super) all: Vec<Arc<Sleeper>>,
    pub(super) watcher: Weak<Watcher>,
}

#[derive(Debug, Default)]
pub(super) struct Sleeper {
    pub(super) changed: Mutex<Changed>,
    pub(super) bell: Notify,
}

impl Sleeper {
    pub(super) fn wake(&self, note: impl FnOnce(&mut Changed)) {
        note(&mut lock(&self.changed));
        self.bell.notify_one();
    }
}

/// The task that looks for what others change. It ends with the last who waits.
#[derive(Debug)]
pub(super) struct Watcher(pub(super) JoinHandle<()>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Wakes {
    /// Wakes everybody for some logs.
    pub(crate) fn wake(&self, logs: &[Uuid]) {
        if logs.is_empty() || self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        for sleeper in &lock(&self.sleepers).all {
            sleeper.wake(|changed| changed.add(logs));
        }
    }

    /// Wakes everybody for everything.
    pub(super) fn wake_all(&self) {
        for sleeper in &lock(&self.sleepers).all {
            sleeper.wake(Changed::everything);
        }
    }

    pub(super) fn own(&self) -> i64 {
        self.own.load(Ordering::SeqCst)
    }
}

impl CommitObserver for Wakes {
    /// Counts a transaction before anybody can see it, so that whoever compares the count with the number in the
    /// file never takes it for another process's.
    fn before_commit(&self) {
        self.own.fetch_add(1, Ordering::SeqCst);
    }

    fn not_committed(&self) {
        self.own.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes the readers of the logs. A reader that is woken for nothing finds nothing.
    fn after_commit(&self, changed: &[Uuid]) {
        self.wake(changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_sleeper_is_bounded() {
        let mut changed = Changed::default();
        let logs: Vec<Uuid> = (0..10_000).map(Uuid::from_u128).collect();
        for logs in logs.chunks(100) {
            changed.add(logs);
            assert!(changed.logs.len() <= PENDING);
        }
        assert!(changed.everything && changed.logs.is_empty());
        changed.add(&logs);
        assert_eq!(changed.logs.capacity(), 0);
    }

    #[test]
    fn a_commit_that_fails_is_not_counted() {
        let wakes = Wakes::default();
        wakes.before_commit();
        wakes.after_commit(&[]);
        wakes.before_commit();
        assert_eq!(wakes.own(), 2, "before anybody can see it");
        wakes.not_committed();
        assert_eq!(wakes.own(), 1);
    }
}
