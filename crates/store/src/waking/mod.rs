//! Who waits for changes, and is woken after they are committed.
//!
//! **Invariants:** a wake-up carries ids and nothing else; whoever is woken reads for himself. It may come
//! for nothing or twice, and where it is lost another one for everything follows within [`POLL`], or
//! [`POLL_UNHEARD`] while nobody can listen. Nothing runs and nothing is sent while nobody waits. What waits
//! for a sleeper is bounded.

mod channels;
mod note;
mod postgres;
mod sqlite;
mod state;
mod work;

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use uuid::Uuid;

pub(crate) use channels::Wanted;
pub(crate) use note::note_change;
pub use state::{ListenerState, Unheard};

use channels::Channels;
use state::State;

use crate::{
    Store,
    database::{CommitObserver, Database, Dialect},
};

use self::work::Workers;
pub use self::work::{Calls, Work};

/// How often everybody is woken for whatever was missed: the net below all else.
const POLL: Duration = Duration::from_secs(5);
/// The same while no connection listens on PostgreSQL: then it is the only way to hear of others.
const POLL_UNHEARD: Duration = Duration::from_secs(1);
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
    fn is_empty(&self) -> bool {
        !self.everything && self.logs.is_empty()
    }

    fn add(&mut self, logs: &[Uuid]) {
        if self.everything {
            return;
        }
        self.logs.extend(logs);
        if self.logs.len() > PENDING {
            self.everything();
        }
    }

    fn everything(&mut self) {
        self.everything = true;
        self.logs = HashSet::new();
    }
}

/// Everybody who waits for changes of one database in this process.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    sleepers: Mutex<Sleepers>,
    /// How many sleepers there are.
    waiting: AtomicUsize,
    /// How many transactions this process has committed that noted a change, or is about to. On SQLite each of them
    /// has taken a number.
    own: AtomicI64,
    workers: Workers,
    /// Which sessions' channels are listened to.
    channels: Channels,
    state: State,
}

#[derive(Debug, Default)]
struct Sleepers {
    all: Vec<Arc<Sleeper>>,
    watcher: Weak<Watcher>,
}

#[derive(Debug, Default)]
struct Sleeper {
    changed: Mutex<Changed>,
    bell: Notify,
}

impl Sleeper {
    fn wake(&self, note: impl FnOnce(&mut Changed)) {
        note(&mut lock(&self.changed));
        self.bell.notify_one();
    }
}

/// The task that looks for what others change. It ends with the last who waits.
#[derive(Debug)]
struct Watcher(JoinHandle<()>);

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
    fn wake_all(&self) {
        for sleeper in &lock(&self.sleepers).all {
            sleeper.wake(Changed::everything);
        }
    }

    fn own(&self) -> i64 {
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

/// One who waits for changes.
#[derive(Debug)]
pub struct Changes {
    sleeper: Arc<Sleeper>,
    wakes: Arc<Wakes>,
    _watcher: Arc<Watcher>,
}

impl Changes {
    /// Waits until something has changed since the last call, or since this was made. Nothing is lost if
    /// whoever calls stops waiting.
    pub async fn next(&mut self) -> Changed {
        loop {
            let changed = std::mem::take(&mut *lock(&self.sleeper.changed));
            if !changed.is_empty() {
                return changed;
            }
            self.sleeper.bell.notified().await;
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut sleepers = lock(&self.wakes.sleepers);
        sleepers.all.retain(|one| !Arc::ptr_eq(one, &self.sleeper));
        self.wakes
            .waiting
            .store(sleepers.all.len(), Ordering::SeqCst);
    }
}

impl Store {
    /// Tells from now on what changes, whoever changes it: this process after its commits; others through
    /// one listening connection on PostgreSQL, and on SQLite by a look at the file ten times a second.
    ///
    /// Whoever waits subscribes first and reads then. Must be called inside a runtime.
    pub fn changes(&self) -> Changes {
        let wakes = Arc::clone(&self.wakes);
        let sleeper = Arc::new(Sleeper::default());
        let mut sleepers = lock(&wakes.sleepers);
        let watcher = self.watcher(&mut sleepers);
        sleepers.all.push(Arc::clone(&sleeper));
        wakes.waiting.store(sleepers.all.len(), Ordering::SeqCst);
        drop(sleepers);
        Changes {
            sleeper,
            wakes,
            _watcher: watcher,
        }
    }
}

impl Store {
    /// The task that looks for what others change, for as long as somebody keeps it.
    fn watcher(&self, sleepers: &mut Sleepers) -> Arc<Watcher> {
        sleepers.watcher.upgrade().unwrap_or_else(|| {
            let watcher = Arc::new(Watcher(tokio::spawn(watch(
                self.db.clone(),
                Arc::clone(&self.wakes),
            ))));
            sleepers.watcher = Arc::downgrade(&watcher);
            watcher
        })
    }

    /// How the changes that other processes make are noticed at this moment.
    pub fn listening(&self) -> ListenerState {
        let wakes = &self.wakes;
        let watched = lock(&wakes.sleepers).watcher.strong_count() > 0;
        if watched {
            wakes.state.get()
        } else {
            ListenerState::Idle
        }
    }
}

/// Looks for what others change, until nobody waits any more.
async fn watch(database: Database, wakes: Arc<Wakes>) {
    let wakes = &*wakes;
    let others = async {
        match database.dialect() {
            Dialect::Postgres => postgres::watch(wakes, &database).await,
            Dialect::Sqlite => {
                wakes.state.set(ListenerState::Looking);
                sqlite::watch(wakes, &database).await;
            }
        }
    };
    let poll = async {
        let mut state = wakes.state.follow();
        loop {
            let period = match *state.borrow_and_update() {
                ListenerState::Polling { .. } => POLL_UNHEARD,
                _ => POLL,
            };
            // Another state is another period.
            if timeout(period, state.changed()).await.is_err() {
                wakes.wake_all();
                if period == POLL_UNHEARD {
                    wakes.workers.call_to_look();
                }
            }
        }
    };
    tokio::join!(others, poll);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
