//! Counts the turns that wait for an approval. Their slots are lent to other turns meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::sync::Notify;

/// The number of turns of one worker that wait for an approval. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    turns: Arc<AtomicU32>,
    /// Notified when a slot may have become free.
    bell: Arc<Notify>,
}

impl Waits {
    /// Returns a counter of zero that notifies `bell` whenever a turn begins to wait.
    pub(crate) fn ringing(bell: Arc<Notify>) -> Self {
        Self {
            turns: Arc::default(),
            bell,
        }
    }

    /// Returns the number of waiting turns.
    pub(crate) fn turns(&self) -> u32 {
        self.turns.load(Ordering::SeqCst)
    }
}

/// The pending approvals of one turn. A turn may wait for several at a time and still counts once, because it has
/// only one slot to lend.
#[derive(Debug, Default)]
pub(crate) struct TurnApprovalWaits {
    all: Waits,
    /// The number of pending approvals of this turn.
    asked: AtomicU32,
}

impl TurnApprovalWaits {
    /// Returns the counter of one of the turns in `all`.
    pub(crate) fn of(all: Waits) -> Self {
        Self {
            all,
            asked: AtomicU32::new(0),
        }
    }

    /// Counts a pending approval until the returned guard is dropped.
    pub(crate) fn begin(&self) -> Waiting<'_> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            self.all.turns.fetch_add(1, Ordering::SeqCst);
            self.all.bell.notify_one();
        }
        Waiting(self)
    }
}

/// A guard for one pending approval of a turn.
pub(crate) struct Waiting<'a>(&'a TurnApprovalWaits);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let TurnApprovalWaits { all, asked } = self.0;
        if asked.fetch_sub(1, Ordering::SeqCst) == 1 {
            // No notification: the turn takes its slot back, so nothing more can be claimed.
            all.turns.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turn_with_several_approvals_counts_as_one_waiting_turn() {
        let all = Waits::default();
        let [one, other] = [
            TurnApprovalWaits::of(all.clone()),
            TurnApprovalWaits::of(all.clone()),
        ];
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
