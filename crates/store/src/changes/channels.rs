//! The notification channels of sessions. A process listens to the channel of a session while a task of the process
//! subscribes to the session's messages.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use tokio::sync::Notify;
use uuid::Uuid;

use super::mutex::lock;

/// The prefix of the channel names. The session's ID follows, with underscores.
const CHANNEL_PREFIX: &str = "automation_session_";

/// Returns the name of a session's channel.
pub(super) fn name(session: Uuid) -> String {
    format!("{CHANNEL_PREFIX}{}", session.to_string().replace('-', "_"))
}

/// Returns the session of a channel's name. Returns `None` if it is not a session's channel.
pub(super) fn session(name: &str) -> Option<Uuid> {
    let id = name.strip_prefix(CHANNEL_PREFIX)?.replace('_', "-");
    Uuid::try_parse(&id).ok()
}

/// The subscriptions of this process to sessions.
#[derive(Debug, Default)]
pub(super) struct Channels {
    /// The number of subscribers of each session.
    subscriber_counts: Mutex<HashMap<Uuid, usize>>,
    changed: Notify,
}

impl Channels {
    /// Returns the sessions that have a subscriber.
    pub(super) fn subscribed_sessions(&self) -> HashSet<Uuid> {
        lock(&self.subscriber_counts).keys().copied().collect()
    }

    /// Waits until a session has got its first subscriber or lost its last one since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Counts a new subscriber of a session.
    pub(super) fn add(&self, session: Uuid) {
        let mut counts = lock(&self.subscriber_counts);
        let count = counts.entry(session).or_default();
        *count += 1;
        if *count == 1 {
            self.changed.notify_one();
        }
    }

    /// Removes a subscriber of a session from the count.
    pub(super) fn remove(&self, session: Uuid) {
        let mut counts = lock(&self.subscriber_counts);
        if let Some(count) = counts.get_mut(&session) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&session);
                self.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_channel_name_round_trips() {
        let id = Uuid::from_u128(0x0199_8cf0_0000_7000_8000_0000_0000_00ff);
        let channel = "automation_session_01998cf0_0000_7000_8000_0000000000ff";
        assert_eq!(name(id), channel);
        assert_eq!(session(channel), Some(id));
        assert_eq!(session("matins_wake"), None);
        assert_eq!(session("automation_session_x"), None);
    }
}
