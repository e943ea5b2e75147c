//! Subscriptions to the channels of sessions.

use std::sync::Arc;

use uuid::Uuid;

use super::wakes::Wakes;

/// One subscription to the channel of a session. Dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct Wanted {
    session: Uuid,
    wakes: Arc<Wakes>,
}

impl Wanted {
    pub(crate) fn new(wakes: &Arc<Wakes>, session: Uuid) -> Self {
        wakes.channels.add(session);
        Self {
            session,
            wakes: Arc::clone(wakes),
        }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.wakes.channels.remove(self.session);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn session_is_subscribed_until_last_subscription_drops() {
        let wakes = Arc::new(Wakes::default());
        let id = Uuid::from_u128(1);
        let first = Wanted::new(&wakes, id);
        let second = Wanted::new(&wakes, id);
        drop(first);
        assert_eq!(wakes.channels.wanted(), HashSet::from([id]));
        drop(second);
        assert_eq!(wakes.channels.wanted(), HashSet::new());
    }
}
