//! Change notification: tasks wait for changes and are woken after the changes are committed.
//!
//! **Invariants:** a notification carries IDs and no data; the woken task reads the rows itself. A notification may
//! be spurious or repeated. If one is lost, all tasks are woken within [`POLL_INTERVAL`], or within
//! [`UNLISTENED_POLL_INTERVAL`] while no connection can listen. Without a waiting task, no watcher runs. The memory for
//! pending notifications is bounded.

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

use model::SessionId;
use tokio::time::timeout;

pub(crate) use channel_subscription::ChannelSubscription;
pub use listener_state::{ListenerState, PollingReason};
pub(crate) use note::{note_change, note_scheduler_work};
pub(crate) use notifier::ChangeNotifier;
pub use notifier::ChangeSet;
pub use work_subscription::{WorkSignals, WorkSubscription};

use mutex::lock;
use notifier::{Subscriber, Subscribers, Watcher};

use crate::{
    boxed,
    database::{Database, Dialect},
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
    pub(crate) fn subscribe(notifier: &Arc<ChangeNotifier>, database: &Database) -> Self {
        let subscriber = Arc::new(Subscriber::default());
        let mut subscribers = lock(&notifier.subscribers);
        let watcher = watcher(notifier, database, &mut subscribers);
        subscribers.all.push(Arc::clone(&subscriber));
        // Store the count while the lock is held, so that two subscriptions cannot store their counts in reverse order.
        notifier
            .subscriber_count
            .store(subscribers.all.len(), Ordering::SeqCst);
        drop(subscribers);
        Self {
            subscriber,
            notifier: Arc::clone(notifier),
            _watcher: watcher,
        }
    }

    /// Waits until something has changed since the last call, or since the subscription began. The future may be
    /// dropped without losing a change.
    #[boxed]
    pub async fn next(&mut self) -> ChangeSet {
        loop {
            let changed = std::mem::take(&mut *lock(&self.subscriber.changed));
            if !changed.is_empty() {
                return changed;
            }
            self.subscriber.wakeup.notified().await;
        }
    }

    /// Waits until the log of a session may have grown.
    pub(crate) async fn next_of_session(&mut self, session: SessionId) {
        loop {
            let changed = self.next().await;
            if changed.everything || changed.logs.contains(&session.uuid()) {
                return;
            }
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut subscribers = lock(&self.notifier.subscribers);
        subscribers
            .all
            .retain(|other| !Arc::ptr_eq(other, &self.subscriber));
        self.notifier
            .subscriber_count
            .store(subscribers.all.len(), Ordering::SeqCst);
    }
}

/// Returns the task that watches for changes of other processes. The task runs while a subscription holds it.
fn watcher(
    notifier: &Arc<ChangeNotifier>,
    database: &Database,
    subscribers: &mut Subscribers,
) -> Arc<Watcher> {
    subscribers.watcher.upgrade().unwrap_or_else(|| {
        let watch = watch(database.clone(), Arc::clone(notifier));
        let watcher = Arc::new(Watcher(tokio::spawn(watch)));
        subscribers.watcher = Arc::downgrade(&watcher);
        watcher
    })
}

/// Watches for changes of other processes. The task is aborted when its last subscription is dropped.
async fn watch(database: Database, notifier: Arc<ChangeNotifier>) {
    let notifier = &*notifier;
    let watch_processes = async {
        match database.dialect() {
            Dialect::Postgres => postgres::watch(notifier, &database).await,
            Dialect::Sqlite => {
                notifier.state.set(ListenerState::PollingFile);
                sqlite::watch(notifier, &database).await;
            }
        }
    };
    let poll = async {
        let mut state = notifier.state.subscribe();
        loop {
            let period = match *state.borrow_and_update() {
                ListenerState::Polling { .. } => UNLISTENED_POLL_INTERVAL,
                _ => POLL_INTERVAL,
            };
            // A new state may have a new interval, so restart the timer.
            if timeout(period, state.changed()).await.is_err() {
                notifier.wake_all();
                if period == UNLISTENED_POLL_INTERVAL {
                    notifier.workers.signal_all_but_cancel();
                }
            }
        }
    };
    tokio::join!(watch_processes, poll);
}
