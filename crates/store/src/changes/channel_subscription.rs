//! Subscriptions to the channels of sessions.

use std::sync::Arc;

use uuid::Uuid;

use super::notifier::ChangeNotifier;

/// One subscription to the channel of a session. Dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct ChannelSubscription {
    session: Uuid,
    notifier: Arc<ChangeNotifier>,
}

impl ChannelSubscription {
    pub(crate) fn new(wakes: &Arc<ChangeNotifier>, session: Uuid) -> Self {
        wakes.channels.add(session);
        Self {
            session,
            notifier: Arc::clone(wakes),
        }
    }
}

impl Drop for ChannelSubscription {
    fn drop(&mut self) {
        self.notifier.channels.remove(self.session);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn session_is_subscribed_until_last_subscription_drops() {
        let wakes = Arc::new(ChangeNotifier::default());
        let id = Uuid::from_u128(1);
        let first = ChannelSubscription::new(&wakes, id);
        let second = ChannelSubscription::new(&wakes, id);
        drop(first);
        assert_eq!(wakes.channels.subscribed_sessions(), HashSet::from([id]));
        drop(second);
        assert_eq!(wakes.channels.subscribed_sessions(), HashSet::new());
    }
}
