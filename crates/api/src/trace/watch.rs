//! The shared state of one log that readers trace: the newest frames of a session and of the texts of its turns, or
//! of a feed. The task of the hub writes it, and readers read it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use model::{RunId, SessionId, event::Change, run::RunStatus};
use store::{LiveText, Logged};
use tokio::sync::Notify;

use super::{
    frame,
    ring::{Next, Ring},
};

/// The shared state of one log.
#[derive(Debug)]
pub(super) struct Watch<K> {
    state: Mutex<State<K>>,
    /// Notifies the readers of each change of the state.
    pub(super) bell: Notify,
}

#[derive(Debug)]
struct State<K> {
    /// The newest frames. `None` until the hub has read the log for the first time.
    log: Option<Ring<K>>,
    /// The newest text of each running turn. The cursors are positions in bytes.
    live: BTreeMap<RunId, Ring<i64>>,
    /// `true` once the session was deleted.
    gone: bool,
}

/// The next step of a reader.
pub(super) enum Step<K> {
    /// Send a frame, and continue after this cursor.
    Event(K, Bytes),
    /// Send a frame of a turn's text, which ends at this position.
    Delta(RunId, i64, Bytes),
    /// Read a page of the table after the cursor.
    Page,
    /// Read the text of a turn from the position up to which it was sent.
    Text(RunId),
    /// Wait for a notification, with this cursor.
    Wait(K),
    /// Send the frame that reports the deletion, and end.
    Gone,
}

impl<K: Copy + Ord> Watch<K> {
    /// Returns the state of a log that the hub has not read yet.
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                log: None,
                live: BTreeMap::new(),
                gone: false,
            }),
            bell: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cursor up to which the hub has read the log. Returns `None` before the first read.
    pub(super) fn head(&self) -> Option<K> {
        self.state().log.as_ref().map(Ring::head)
    }

    /// Starts the frames after a cursor, for the first time or after a gap. `running` are the turns whose text is
    /// traced from now on.
    pub(super) fn begin(&self, place: K, running: Vec<RunId>) {
        let mut state = self.state();
        state.log = Some(Ring::at(place));
        for run in running {
            state.live.entry(run).or_insert_with(|| Ring::at(0));
        }
        drop(state);
        self.bell.notify_waiters();
    }

    /// Appends frames of a feed, and moves the head to the cursor up to which the feed was read.
    pub(super) fn extend(&self, frames: Vec<(K, Bytes)>, head: K) {
        let mut state = self.state();
        if let Some(log) = &mut state.log {
            for (place, frame) in frames {
                log.push(place, frame);
            }
            log.advance(head);
        }
        drop(state);
        self.bell.notify_waiters();
    }

    /// Marks the session as deleted.
    pub(super) fn gone(&self) {
        self.state().gone = true;
        self.bell.notify_waiters();
    }

    /// Returns the running turns, each with the position up to which the hub has read their text.
    pub(super) fn live(&self) -> Vec<(RunId, i64)> {
        let state = self.state();
        let live = state.live.iter();
        live.map(|(run, ring)| (*run, ring.head())).collect()
    }

    /// Returns the next step of a reader with a cursor. `sent` are the positions up to which the reader has sent the
    /// text of each turn. Events come before text.
    pub(super) fn step(&self, at: K, sent: &mut Vec<(RunId, i64)>) -> Step<K> {
        let state = self.state();
        if state.gone {
            return Step::Gone;
        }
        let Some(log) = &state.log else {
            return Step::Wait(at);
        };
        let at = match log.next(at) {
            Next::Frame(place, frame) => return Step::Event(place, frame),
            Next::Behind => return Step::Page,
            Next::Nothing(place) => place,
        };
        // Forget turns that have ended, so that the list of a reader does not grow with the session.
        sent.retain(|(run, _)| state.live.contains_key(run));
        for (run, ring) in &state.live {
            let from = sent.iter().find(|(of, _)| of == run);
            match ring.next(from.map_or(0, |(_, from)| *from)) {
                Next::Frame(end, frame) => return Step::Delta(*run, end, frame),
                Next::Behind => return Step::Text(*run),
                Next::Nothing(_) => {}
            }
        }
        Step::Wait(at)
    }
}

impl Watch<i64> {
    /// Appends the events that the log of a session has after the head, and starts and ends the texts of turns with
    /// them.
    pub(super) fn log(&self, session: SessionId, events: Vec<Logged>) {
        let mut state = self.state();
        for logged in events {
            let event = &logged.event;
            let next = state.log.as_ref().map(|log| log.head() + 1);
            if next.is_some_and(|next| next != event.seq) {
                // Retention has removed events that the hub has not read. Start the ring anew, so that readers with
                // an earlier cursor read the table, where they find the gap and send a snapshot.
                state.log = Some(Ring::at(event.seq - 1));
            }
            if let Change::Run { run_id, change } = &event.change {
                if change.status() == RunStatus::Running {
                    state.live.entry(*run_id).or_insert_with(|| Ring::at(0));
                } else {
                    state.live.remove(run_id);
                }
            }
            if let Some(log) = &mut state.log {
                log.push(event.seq, frame::logged(session, logged));
            }
        }
        drop(state);
        self.bell.notify_waiters();
    }

    /// Appends a piece of the text of a turn. Ignores a piece that does not continue at the head, such as one that
    /// was read twice, because a ring must have no gap.
    pub(super) fn write(&self, text: &LiveText) {
        if let Some(live) = self.state().live.get_mut(&text.run)
            && live.head() == text.position
        {
            live.push(text.end(), frame::delta(text));
        }
        self.bell.notify_waiters();
    }
}
