//! The way in which this process notices changes of other processes, for status pages and metrics.

use tokio::{sync::watch, time::Instant};

/// The way in which this process notices changes of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListenerState {
    /// No task waits for changes, so no watcher runs.
    #[default]
    Idle,
    /// A connection listens for the server's notifications.
    Listening,
    /// The SQLite file is polled ten times a second.
    PollingFile,
    /// No connection can listen, so all waiting tasks poll once a second.
    Polling {
        /// The reason why no connection listens.
        reason: PollingReason,
        /// The instant at which polling began, by the monotonic clock.
        since: Instant,
    },
}

/// The reason why no connection listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollingReason {
    /// A pooler lends connections out for one transaction each, and no direct address is configured.
    Pooler,
    /// The connection is not established yet, or was lost. The process tries again.
    Lost,
}

/// The state, with one writer, and readers that can wait for a change.
#[derive(Debug, Default)]
pub(super) struct ListenerStateCell(watch::Sender<ListenerState>);

impl ListenerStateCell {
    pub(super) fn get(&self) -> ListenerState {
        *self.0.borrow()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<ListenerState> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, state: ListenerState) {
        self.0.send_replace(state);
    }

    /// Records that no connection can listen. Keeps the instant of the first such call.
    pub(super) fn set_polling(&self, reason: PollingReason) {
        self.0.send_if_modified(|state| {
            let is_repeated = matches!(
                state,
                ListenerState::Polling { reason: previous, .. } if *previous == reason
            );
            if !is_repeated {
                let since = Instant::now();
                *state = ListenerState::Polling { reason, since };
            }
            !is_repeated
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_listener_failure_keeps_first_instant() {
        let state = ListenerStateCell::default();
        assert_eq!(state.get(), ListenerState::Idle);
        state.set_polling(PollingReason::Lost);
        let first = state.get();
        let receiver = state.subscribe();
        state.set_polling(PollingReason::Lost);
        assert_eq!(state.get(), first);
        assert!(!receiver.has_changed().unwrap());
        state.set(ListenerState::Listening);
        state.set_polling(PollingReason::Lost);
        assert!(receiver.has_changed().unwrap());
    }
}
