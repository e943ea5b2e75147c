//! The slots of turns. A turn that waits for a person lends its slot, up to a limit, as on a server.
//!
//! **Invariant:** a lent slot is not reserved. When its turn goes on and no slot is free, more turns than slots run until one
//! of them ends, and no other turn begins meanwhile.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The slots of turns. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TurnSlots {
    free: Arc<Semaphore>,
    /// The highest number of turns that lend their slots.
    max_lent: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of turns that wait for a person.
    waiting_turns: usize,
    /// The number of slots that waiting turns lend.
    lent: usize,
    /// The number of slots that were taken back while none was free. As many of those that become free next vanish.
    overdrawn: usize,
}

/// A slot, until it is dropped.
#[derive(Debug)]
pub(crate) struct TurnSlot {
    slots: TurnSlots,
    permit: Option<OwnedSemaphorePermit>,
}

/// The waits of one turn for people. A turn may wait for several answers at a time and still lends one slot.
#[derive(Debug)]
pub(crate) struct TurnWaits {
    slots: TurnSlots,
    pending: AtomicUsize,
}

/// A wait of a turn for a person, until it is dropped.
pub(crate) struct TurnWait<'a>(&'a TurnWaits);

impl TurnSlots {
    /// Returns `slots` free slots, of which waiting turns lend `max_lent`.
    pub(crate) fn new(slots: usize, max_lent: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(slots)),
            max_lent,
            state: Arc::default(),
        }
    }

    /// Waits for a free slot. The first poll takes a place in the queue.
    pub(crate) async fn acquire(self) -> Result<TurnSlot, AcquireError> {
        let permit = Arc::clone(&self.free).acquire_owned().await?;
        Ok(TurnSlot {
            slots: self,
            permit: Some(permit),
        })
    }

    /// Changes the number of waiting turns, and lends or takes back a slot.
    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let lent = state.waiting_turns.min(self.max_lent);
        while state.lent < lent {
            state.lent += 1;
            if state.overdrawn > 0 {
                state.overdrawn -= 1;
            } else {
                self.free.add_permits(1);
            }
        }
        while state.lent > lent {
            state.lent -= 1;
            if self.free.forget_permits(1) == 0 {
                state.overdrawn += 1;
            }
        }
    }
}

impl TurnSlot {
    /// Returns the waits of the turn in this slot.
    pub(crate) fn turn_waits(&self) -> TurnWaits {
        TurnWaits {
            slots: self.slots.clone(),
            pending: AtomicUsize::new(0),
        }
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        self.slots.update(|state| {
            if state.overdrawn > 0
                && let Some(permit) = self.permit.take()
            {
                state.overdrawn -= 1;
                permit.forget();
            }
        });
    }
}

impl TurnWaits {
    /// Lends the slot of the turn until all waits are dropped.
    pub(crate) fn begin(&self) -> TurnWait<'_> {
        if self.pending.fetch_add(1, Ordering::SeqCst) == 0 {
            self.slots.update(|state| state.waiting_turns += 1);
        }
        TurnWait(self)
    }
}

impl Drop for TurnWait<'_> {
    fn drop(&mut self) {
        if self.0.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.slots.update(|state| state.waiting_turns -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Takes a slot if one is free.
    fn take(slots: &TurnSlots) -> Option<TurnSlot> {
        slots.clone().acquire().now_or_never().map(Result::unwrap)
    }

    #[test]
    fn waiting_turn_lends_one_slot_up_to_limit() {
        let slots = TurnSlots::new(1, 1);
        let first = take(&slots).unwrap();
        assert!(take(&slots).is_none());
        let waits = first.turn_waits();
        let (one, two) = (waits.begin(), waits.begin());
        let second = take(&slots).unwrap();
        assert!(take(&slots).is_none(), "a turn lends one slot");
        // Only one turn may lend its slot.
        let waits_too = second.turn_waits();
        let of_second = waits_too.begin();
        assert!(take(&slots).is_none());
        drop(one);
        assert!(take(&slots).is_none());
        // The first turn goes on at once, beside the second one, which now lends its slot in its place.
        drop(two);
        assert!(take(&slots).is_none());
        drop(first);
        let third = take(&slots).unwrap();
        // Both go on: two turns in one slot, and none begins before both have ended.
        drop(of_second);
        drop(second);
        assert!(take(&slots).is_none());
        drop(third);
        assert!(take(&slots).is_some());
    }

    #[test]
    fn unused_lent_slot_is_taken_back() {
        let slots = TurnSlots::new(2, 2);
        let turn = take(&slots).unwrap();
        let waits = turn.turn_waits();
        drop(waits.begin());
        let other = take(&slots).unwrap();
        assert!(take(&slots).is_none());
        drop((turn, other));
        let both = (take(&slots).unwrap(), take(&slots).unwrap());
        assert!(take(&slots).is_none());
        drop(both);
    }

    #[test]
    fn turn_that_may_not_lend_keeps_its_slot() {
        let slots = TurnSlots::new(1, 0);
        let turn = take(&slots).unwrap();
        let waits = turn.turn_waits();
        let _wait = waits.begin();
        assert!(take(&slots).is_none());
    }
}
