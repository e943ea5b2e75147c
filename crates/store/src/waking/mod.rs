//! Who waits for changes, and is woken after they are committed.
//!
//! **Invariants:** a wake-up carries ids and nothing else; whoever is woken reads for himself. It may come
//! for nothing or twice, and where it is lost another one for everything follows within [`POLL`], or
//! [`POLL_UNHEARD`] while nobody can listen. Nothing runs and nothing is sent while nobody waits. What waits
//! for a sleeper is bounded.

mod channels;
mod mutex;
mod note;
mod postgres;
mod sqlite;
mod state;
mod wakes;
mod wanted;
mod work;
mod workers;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::timeout;

pub(crate) use note::note_change;
pub use state::{ListenerState, Unheard};
pub use wakes::Changed;
pub(crate) use wakes::Wakes;
pub(crate) use wanted::Wanted;
pub use work::{Calls, Work};

use mutex::lock;
use wakes::{Sleeper, Sleepers, Watcher};

use crate::{
    database::{Database, Dialect},
    store::Store,
};

/// How often everybody is woken for whatever was missed: the net below all else.
const POLL: Duration = Duration::from_secs(5);
/// The same while no connection listens on PostgreSQL: then it is the only way to hear of others.
const POLL_UNHEARD: Duration = Duration::from_secs(1);
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
