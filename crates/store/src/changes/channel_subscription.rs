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
    pub(crate) fn new(notifier: &Arc<ChangeNotifier>, session: Uuid) -> Self {
        notifier.channels.add(session);
        Self {
            session,
            notifier: Arc::clone(notifier),
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
        let notifier = Arc::new(ChangeNotifier::default());
        let id = Uuid::from_u128(1);
        let first = ChannelSubscription::new(&notifier, id);
        let second = ChannelSubscription::new(&notifier, id);
        drop(first);
        assert_eq!(notifier.channels.subscribed_sessions(), HashSet::from([id]));
        drop(second);
        assert_eq!(notifier.channels.subscribed_sessions(), HashSet::new());
    }
}
