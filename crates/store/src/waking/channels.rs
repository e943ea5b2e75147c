//! The channels of sessions, listened to while somebody subscribes to what is published in them.

use std::{
    collections::{HashMap, HashSet},
    sync::Mutex,
};

use tokio::sync::Notify;
use uuid::Uuid;

use super::mutex::lock;

/// What the channels of sessions begin with; the id follows, with underscores.
const PREFIX: &str = "automation_session_";

/// The name of a session's channel.
pub(super) fn name(session: Uuid) -> String {
    format!("{PREFIX}{}", session.to_string().replace('-', "_"))
}

/// The session of a channel's name, where it is one's.
pub(super) fn session(name: &str) -> Option<Uuid> {
    let id = name.strip_prefix(PREFIX)?.replace('_', "-");
    Uuid::try_parse(&id).ok()
}

/// Who subscribes to which session in this process.
#[derive(Debug, Default)]
pub(super) struct Channels {
    /// How many subscribe to each.
    wanted: Mutex<HashMap<Uuid, usize>>,
    changed: Notify,
}

impl Channels {
    /// The sessions to which anybody subscribes.
    pub(super) fn wanted(&self) -> HashSet<Uuid> {
        lock(&self.wanted).keys().copied().collect()
    }

    /// Waits until the first has come to a session or the last has gone, since this was waited for last.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Counts a subscriber of a session.
    pub(super) fn add(&self, session: Uuid) {
        let mut wanted = lock(&self.wanted);
        let count = wanted.entry(session).or_default();
        *count += 1;
        if *count == 1 {
            self.changed.notify_one();
        }
    }

    /// Counts a subscriber of a session no more.
    pub(super) fn remove(&self, session: Uuid) {
        let mut wanted = lock(&self.wanted);
        if let Some(count) = wanted.get_mut(&session) {
            *count -= 1;
            if *count == 0 {
                wanted.remove(&session);
                self.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_named_after_its_session() {
        let id = Uuid::from_u128(0x0199_8cf0_0000_7000_8000_0000_0000_00ff);
        let named = "automation_session_01998cf0_0000_7000_8000_0000000000ff";
        assert_eq!(name(id), named);
        assert_eq!(session(named), Some(id));
        assert_eq!(session("matins_wake"), None);
        assert_eq!(session("automation_session_x"), None);
    }
}
