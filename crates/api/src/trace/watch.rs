//! What somebody reads live: the newest of a session's log and of its turns' texts, or of a feed.

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

/// Something that is watched, with a place in its log.
#[derive(Debug)]
pub(super) struct Watch<K> {
    state: Mutex<State<K>>,
    /// Rung whenever the state changes.
    pub(super) bell: Notify,
}

#[derive(Debug)]
struct State<K> {
    /// None until it is read for the first time.
    log: Option<Ring<K>>,
    live: BTreeMap<RunId, Ring<i64>>,
    gone: bool,
}

/// What a reader is to do next.
pub(super) enum Step<K> {
    /// Send a frame and go on from this place.
    Event(K, Bytes),
    /// Send a frame of a turn's text, which ends here.
    Delta(RunId, i64, Bytes),
    /// Read a page of the table after its place.
    Page,
    /// Read a turn's text from its place.
    Text(RunId),
    /// Wait for the bell, at this place.
    Wait(K),
    /// Say that the session is gone.
    Gone,
}

impl<K: Copy + Ord> Watch<K> {
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

    /// The place up to which it was read; none before the first time.
    pub(super) fn head(&self) -> Option<K> {
        self.state().log.as_ref().map(Ring::head)
    }

    /// Begins at a place, for the first time or after a gap.
    pub(super) fn begin(&self, place: K, running: Vec<RunId>) {
        let mut state = self.state();
        state.log = Some(Ring::at(place));
        for run in running {
            state.live.entry(run).or_insert_with(|| Ring::at(0));
        }
        drop(state);
        self.bell.notify_waiters();
    }

    /// Adds what a feed has up to a place.
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

    /// Says that it is not there any more.
    pub(super) fn gone(&self) {
        self.state().gone = true;
        self.bell.notify_waiters();
    }

    /// The turns that run, each with the position up to which their text was read.
    pub(super) fn live(&self) -> Vec<(RunId, i64)> {
        let state = self.state();
        let live = state.live.iter();
        live.map(|(run, ring)| (*run, ring.head())).collect()
    }

    /// What a reader does at a place, with the positions in texts that it has been sent. Events go first.
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
    /// Adds what a session's log has after its head.
    pub(super) fn log(&self, session: SessionId, events: Vec<Logged>) {
        let mut state = self.state();
        for logged in events {
            let event = &logged.event;
            let next = state.log.as_ref().map(|log| log.head() + 1);
            if next.is_some_and(|next| next != event.seq) {
                // Retention was faster: whoever has not read what is gone finds that out in the table.
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

    /// Adds what a turn has written.
    pub(super) fn write(&self, text: &LiveText) {
        if let Some(live) = self.state().live.get_mut(&text.run)
            && live.head() == text.position
        {
            live.push(text.end(), frame::delta(text));
        }
        self.bell.notify_waiters();
    }
}
