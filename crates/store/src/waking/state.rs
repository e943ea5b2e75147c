//! How changes of other processes are noticed, for people and figures.

use tokio::{sync::watch, time::Instant};

/// How the changes that other processes make are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListenerState {
    /// Nobody waits for any, so nothing looks.
    #[default]
    Idle,
    /// A connection listens for what the server tells.
    Listening,
    /// The file is looked at ten times a second.
    Looking,
    /// Nobody can listen: whoever waits looks once a second.
    Polling {
        /// Why.
        why: Unheard,
        /// Since when, by the monotonic clock.
        since: Instant,
    },
}

/// Why nobody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    /// A pooler lends connections out for one transaction each, and no direct address is named.
    Pooler,
    /// It has not succeeded yet, or the connection was lost; it is tried again.
    Lost,
}

/// The state, for one who changes it and others who read it or wait for a change.
#[derive(Debug, Default)]
pub(super) struct State(watch::Sender<ListenerState>);

impl State {
    pub(super) fn get(&self) -> ListenerState {
        *self.0.borrow()
    }

    pub(super) fn follow(&self) -> watch::Receiver<ListenerState> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, state: ListenerState) {
        self.0.send_replace(state);
    }

    /// Notes that nobody can listen, since now where it was not so before.
    pub(super) fn unheard(&self, why: Unheard) {
        self.0.send_if_modified(|state| {
            let known = matches!(state, ListenerState::Polling { why: known, .. } if *known == why);
            if !known {
                let since = Instant::now();
                *state = ListenerState::Polling { why, since };
            }
            !known
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_again_has_failed_since_the_first_time() {
        let state = State::default();
        assert_eq!(state.get(), ListenerState::Idle);
        state.unheard(Unheard::Lost);
        let first = state.get();
        let followed = state.follow();
        state.unheard(Unheard::Lost);
        assert_eq!(state.get(), first);
        assert!(!followed.has_changed().unwrap());
        state.set(ListenerState::Listening);
        state.unheard(Unheard::Lost);
        assert!(followed.has_changed().unwrap());
    }
}
