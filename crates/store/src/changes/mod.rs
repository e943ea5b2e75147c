//! Change notification: tasks wait for changes and are woken after the changes are committed.
//!
//! **Invariants:** a notification carries IDs and no data; the woken task reads the rows itself. A notification may
//! be spurious or repeated. If one is lost, all tasks are woken within [`POLL`], or within [`UNLISTENED_POLL_INTERVAL`] while no
//! connection can listen. Without a waiting task, no watcher runs. The memory for pending notifications is bounded.

mod channel_subscription;
mod channels;
mod listener_state;
mod mutex;
mod note;
mod notifier;
mod postgres;
mod sqlite;
mod work_subscribers;
mod work_subscription;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::timeout;

pub(crate) use channel_subscription::ChannelSubscription;
pub use listener_state::{ListenerState, PollingReason};
pub(crate) use note::note_change;
pub(crate) use notifier::ChangeNotifier;
pub use notifier::ChangeSet;
pub use work_subscription::{WorkSignals, WorkSubscription};

use mutex::lock;
use notifier::{Subscriber, Subscribers, Watcher};

use crate::{
    database::{Database, Dialect},
    store::Store,
};

/// The interval at which all tasks are woken, in case a notification was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The interval while no connection listens on PostgreSQL, because polling is then the only way to notice changes of
/// other processes.
const UNLISTENED_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A task's subscription to changes.
#[derive(Debug)]
pub struct Changes {
    subscriber: Arc<Subscriber>,
    notifier: Arc<ChangeNotifier>,
    _watcher: Arc<Watcher>,
}

impl Changes {
    /// Waits until something has changed since the last call, or since the subscription began. The future may be
    /// dropped without losing a change.
    pub async fn next(&mut self) -> ChangeSet {
        loop {
            let changed = std::mem::take(&mut *lock(&self.subscriber.changed));
            if !changed.is_empty() {
                return changed;
            }
            self.subscriber.wakeup.notified().await;
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut sleepers = lock(&self.notifier.subscribers);
        sleepers
            .all
            .retain(|one| !Arc::ptr_eq(one, &self.subscriber));
        self.notifier
            .subscriber_count
            .store(sleepers.all.len(), Ordering::SeqCst);
    }
}

impl Store {
    /// Subscribes to changes of all processes. This process reports its own changes after each commit. It learns of
    /// others through one listening connection on PostgreSQL, and by polling the file ten times a second on SQLite.
    ///
    /// The caller must subscribe first and read afterwards: a change between a read and the subscription would be
    /// missed. Must be called inside a Tokio runtime.
    pub fn changes(&self) -> Changes {
        let wakes = Arc::clone(&self.change_notifier);
        let sleeper = Arc::new(Subscriber::default());
        let mut sleepers = lock(&wakes.subscribers);
        let watcher = self.watcher(&mut sleepers);
        sleepers.all.push(Arc::clone(&sleeper));
        wakes
            .subscriber_count
            .store(sleepers.all.len(), Ordering::SeqCst);
        drop(sleepers);
        Changes {
            subscriber: sleeper,
            notifier: wakes,
            _watcher: watcher,
        }
    }
}

impl Store {
    /// Returns the task that watches for changes of other processes. The task runs while a subscription holds it.
    fn watcher(&self, sleepers: &mut Subscribers) -> Arc<Watcher> {
        sleepers.watcher.upgrade().unwrap_or_else(|| {
            let watcher = Arc::new(Watcher(tokio::spawn(watch(
                self.db.clone(),
                Arc::clone(&self.change_notifier),
            ))));
            sleepers.watcher = Arc::downgrade(&watcher);
            watcher
        })
    }

    /// Returns the way in which changes of other processes are noticed at this moment.
    pub fn listener_state(&self) -> ListenerState {
        let wakes = &self.change_notifier;
        let watched = lock(&wakes.subscribers).watcher.strong_count() > 0;
        if watched {
            wakes.state.get()
        } else {
            ListenerState::Idle
        }
    }
}

/// Watches for changes of other processes. The task is aborted when its last subscription is dropped.
async fn watch(database: Database, wakes: Arc<ChangeNotifier>) {
    let wakes = &*wakes;
    let others = async {
        match database.dialect() {
            Dialect::Postgres => postgres::watch(wakes, &database).await,
            Dialect::Sqlite => {
                wakes.state.set(ListenerState::PollingFile);
                sqlite::watch(wakes, &database).await;
            }
        }
    };
    let poll = async {
        let mut state = wakes.state.subscribe();
        loop {
            let period = match *state.borrow_and_update() {
                ListenerState::Polling { .. } => UNLISTENED_POLL_INTERVAL,
                _ => POLL_INTERVAL,
            };
            // A new state may have a new interval, so restart the timer.
            if timeout(period, state.changed()).await.is_err() {
                wakes.wake_all();
                if period == UNLISTENED_POLL_INTERVAL {
                    wakes.workers.signal_all_but_cancel();
                }
            }
        }
    };
    tokio::join!(others, poll);
}
