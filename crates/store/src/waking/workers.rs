//! Everybody who works in this process, and what each was called for.

use std::sync::{
    Mutex, PoisonError, Weak,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// What there is to do, as the database names it in its notifications.
pub(super) const KINDS: [(&str, u8); 3] = [("queue", 1), ("schedule", 2), ("cancel", CANCEL)];
const CANCEL: u8 = 4;
const EVERYTHING: u8 = 7;

/// Everybody who works in this process.
#[derive(Debug, Default)]
pub(super) struct Workers(pub(super) Mutex<Vec<Weak<Called>>>);

#[derive(Debug, Default)]
pub(super) struct Called {
    /// What it was called for since it last looked.
    pub(super) kinds: AtomicU8,
    pub(super) bell: Notify,
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
