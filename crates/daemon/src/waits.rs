//! Turns that wait for people, and whose slots are free for others meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::sync::Notify;

/// The turns of one worker that wait for people. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    turns: Arc<AtomicU32>,
    /// Rung when a slot may be free.
    bell: Arc<Notify>,
}

impl Waits {
    /// Counts for whoever is woken by `bell`.
    pub(crate) fn ringing(bell: Arc<Notify>) -> Self {
        Self {
            turns: Arc::default(),
            bell,
        }
    }

    /// How many turns wait.
    pub(crate) fn turns(&self) -> u32 {
        self.turns.load(Ordering::SeqCst)
    }
}

/// What one turn waits for: it may ask more than one thing at a time, and counts once.
#[derive(Debug, Default)]
pub(crate) struct OwnWaits {
    all: Waits,
    asked: AtomicU32,
}

impl OwnWaits {
    /// Of one of those turns.
    pub(crate) fn of(all: Waits) -> Self {
        Self {
            all,
            asked: AtomicU32::new(0),
        }
    }

    /// Waits until what it gives is dropped.
    pub(crate) fn begin(&self) -> Waiting<'_> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            self.all.turns.fetch_add(1, Ordering::SeqCst);
            self.all.bell.notify_one();
        }
        Waiting(self)
    }
}

/// Something that a turn waits for.
pub(crate) struct Waiting<'a>(&'a OwnWaits);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let OwnWaits { all, asked } = self.0;
        if asked.fetch_sub(1, Ordering::SeqCst) == 1 {
            all.turns.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_counts_once_however_much_it_asks() {
        let all = Waits::default();
        let [one, other] = [OwnWaits::of(all.clone()), OwnWaits::of(all.clone())];
        let first = one.begin();
        all.bell.notified().await;
        let second = one.begin();
        assert_eq!(all.turns(), 1);
        let third = other.begin();
        assert_eq!(all.turns(), 2);
        drop(first);
        assert_eq!(all.turns(), 2);
        drop(second);
        assert_eq!(all.turns(), 1);
        drop(third);
        assert_eq!(all.turns(), 0);
    }
}
