//! Counts the turns that wait for an approval. Their slots are lent to other turns meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::sync::Notify;

/// The number of turns of one worker that wait for an approval. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApprovalWaits {
    waiting_turns: Arc<AtomicU32>,
    /// Notified when a slot may have become free.
    slot_freed: Arc<Notify>,
}

impl ApprovalWaits {
    /// Returns a counter of zero that notifies `slot_freed` whenever a turn begins to wait.
    pub(crate) fn notifying(slot_freed: Arc<Notify>) -> Self {
        Self {
            waiting_turns: Arc::default(),
            slot_freed,
        }
    }

    /// Returns the number of waiting turns.
    pub(crate) fn waiting_turns(&self) -> u32 {
        self.waiting_turns.load(Ordering::SeqCst)
    }
}

/// The pending approvals of one turn. A turn may wait for several at a time and still counts once, because it has
/// only one slot to lend.
#[derive(Debug, Default)]
pub(crate) struct TurnApprovalWaits {
    worker_waits: ApprovalWaits,
    /// The number of pending approvals of this turn.
    pending_approvals: AtomicU32,
}

impl TurnApprovalWaits {
    /// Returns the counter of one of the turns in `all`.
    pub(crate) fn new(all: ApprovalWaits) -> Self {
        Self {
            worker_waits: all,
            pending_approvals: AtomicU32::new(0),
        }
    }

    /// Counts a pending approval until the returned guard is dropped.
    pub(crate) fn begin(&self) -> ApprovalWaitGuard<'_> {
        if self.pending_approvals.fetch_add(1, Ordering::SeqCst) == 0 {
            self.worker_waits
                .waiting_turns
                .fetch_add(1, Ordering::SeqCst);
            self.worker_waits.slot_freed.notify_one();
        }
        ApprovalWaitGuard(self)
    }
}

/// A guard for one pending approval of a turn.
pub(crate) struct ApprovalWaitGuard<'a>(&'a TurnApprovalWaits);

impl Drop for ApprovalWaitGuard<'_> {
    fn drop(&mut self) {
        let TurnApprovalWaits {
            worker_waits,
            pending_approvals,
        } = self.0;
        if pending_approvals.fetch_sub(1, Ordering::SeqCst) == 1 {
            // No notification: the turn takes its slot back, so nothing more can be claimed.
            worker_waits.waiting_turns.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turn_with_several_approvals_counts_as_one_waiting_turn() {
        let all = ApprovalWaits::default();
        let [one, other] = [
            TurnApprovalWaits::new(all.clone()),
            TurnApprovalWaits::new(all.clone()),
        ];
        let first = one.begin();
        all.slot_freed.notified().await;
        let second = one.begin();
        assert_eq!(all.waiting_turns(), 1);
        let third = other.begin();
        assert_eq!(all.waiting_turns(), 2);
        drop(first);
        assert_eq!(all.waiting_turns(), 2);
        drop(second);
        assert_eq!(all.waiting_turns(), 1);
        drop(third);
        assert_eq!(all.waiting_turns(), 0);
    }
}
