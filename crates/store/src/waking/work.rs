//! Who works, and is told when another server has made something to do.
//!
//! On SQLite nobody else makes anything: whoever writes is in this process, and says so himself.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

use super::{Watcher, lock};
use crate::{Store, database::Dialect};

/// What there is to do, as the database names it in its notifications.
const KINDS: [(&str, u8); 3] = [("queue", 1), ("schedule", 2), ("cancel", CANCEL)];
const CANCEL: u8 = 4;
const EVERYTHING: u8 = 7;

/// Everybody who works in this process.
#[derive(Debug, Default)]
pub(super) struct Workers(Mutex<Vec<Weak<Called>>>);

#[derive(Debug, Default)]
struct Called {
    /// What it was called for since it last looked.
    kinds: AtomicU8,
    bell: Notify,
}

impl Workers {
    /// Calls everybody for what a notification names, if it names something.
    pub(super) fn call(&self, kind: &str) {
        if let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == kind) {
            self.ring(*kind);
        }
    }

    /// Calls everybody for everything: nobody knows what was missed.
    pub(super) fn call_for_everything(&self) {
        self.ring(EVERYTHING);
    }

    /// Calls everybody to look for what may have been made meanwhile. Whether a turn is to be called off is
    /// looked at with its heartbeat, which is not to come more often because nobody can listen.
    pub(super) fn call_to_look(&self) {
        self.ring(EVERYTHING & !CANCEL);
    }

    fn ring(&self, kinds: u8) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| {
            let called = one.upgrade();
            if let Some(called) = &called {
                called.kinds.fetch_or(kinds, Ordering::SeqCst);
                called.bell.notify_one();
            }
            called.is_some()
        });
    }
}

/// What there may be to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// A run may be claimed.
    pub queue: bool,
    /// Something is due earlier than before.
    pub schedule: bool,
    /// A run under way is to be called off.
    pub cancel: bool,
}

/// One who works, and waits for what others make to do.
#[derive(Debug)]
pub struct Work {
    called: Arc<Called>,
    _watcher: Option<Arc<Watcher>>,
}

impl Work {
    /// Waits until another server has made something to do. Nothing is lost if whoever calls stops waiting.
    pub async fn next(&mut self) -> Calls {
        loop {
            let kinds = self.called.kinds.swap(0, Ordering::SeqCst);
            if kinds != 0 {
                let [queue, schedule, cancel] = KINDS.map(|(_, kind)| kinds & kind != 0);
                return Calls {
                    queue,
                    schedule,
                    cancel,
                };
            }
            self.called.bell.notified().await;
        }
    }
}

impl Store {
    /// Tells from now on when another server has made something to do. On SQLite there is none.
    ///
    /// Must be called inside a runtime.
    pub fn work(&self) -> Work {
        let called = Arc::new(Called::default());
        let wakes = &self.wakes;
        let watcher = (self.db.dialect() == Dialect::Postgres).then(|| {
            let mut workers = wakes
                .workers
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            workers.push(Arc::downgrade(&called));
            drop(workers);
            self.watcher(&mut lock(&wakes.sleepers))
        });
        Work {
            called,
            _watcher: watcher,
        }
    }
}
