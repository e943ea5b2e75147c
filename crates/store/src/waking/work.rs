//! Who works, and is told when another server has made something to do.
//!
//! On SQLite nobody else makes anything: whoever writes is in this process, and says so himself.

use std::sync::{Arc, atomic::Ordering};

use super::{
    mutex::lock,
    wakes::Watcher,
    workers::{Called, KINDS},
};
use crate::{database::Dialect, store::Store};

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
            lock(&wakes.workers.0).push(Arc::downgrade(&called));
            self.watcher(&mut lock(&wakes.sleepers))
        });
        Work {
            called,
            _watcher: watcher,
        }
    }
}
