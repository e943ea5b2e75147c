//! The shared state of one log that readers trace: the newest frames of a session and of the texts of its turns, or
//! of a feed. The task of the hub writes it, and readers read it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use model::{RunId, SessionId, event::Change, run::RunStatus};
use store::{LiveText, LogEntry};
use tokio::sync::Notify;

use super::{
    frame,
    ring::{Ring, RingRead},
    sent_positions::sent_position,
};

/// The shared state of one log.
#[derive(Debug)]
pub(super) struct SharedLog<K> {
    state: Mutex<LogState<K>>,
    /// Notifies the readers of each change of the state.
    pub(super) change_notify: Notify,
}

#[derive(Debug)]
struct LogState<K> {
    /// The newest frames. `None` until the hub has read the log for the first time.
    log: Option<Ring<K>>,
    /// The newest text of each running turn. The cursors are positions in bytes.
    live_texts: BTreeMap<RunId, Ring<i64>>,
    /// `true` once the session was deleted.
    is_deleted: bool,
}

/// The next step of a reader.
pub(super) enum Step<K> {
    /// Send a frame, and continue after this cursor.
    Event(K, Bytes),
    /// Send or read the text of a turn.
    Text(TextStep),
    /// Read a page of the table after the cursor.
    ReadPage,
    /// Wait for a notification, with this cursor.
    Wait(K),
    /// Send the frame that reports the deletion, and end.
    Deleted,
}

/// The next step of a reader of text.
pub(super) enum TextStep {
    /// Send a frame of a turn's text, which ends at this position.
    Delta(RunId, i64, Bytes),
    /// Read the text of a turn from the position up to which it was sent.
    Read(RunId),
}

impl<K> LogState<K> {
    /// Returns the next step of a reader of text. `sent` are the positions up to which the reader has sent the text of
    /// each turn. Returns `None` if there is no new text.
    fn next_text(&self, sent: &mut Vec<(RunId, i64)>) -> Option<TextStep> {
        // Forget turns that have ended, so that the list of a reader does not grow with the session.
        sent.retain(|(run, _)| self.live_texts.contains_key(run));
        self.live_texts.iter().find_map(|(run, ring)| {
            match ring.first_after(sent_position(sent, *run)) {
                RingRead::Frame(end, frame) => Some(TextStep::Delta(*run, end, frame)),
                RingRead::Behind => Some(TextStep::Read(*run)),
                RingRead::UpToDate(_) => None,
            }
        })
    }
}

impl<K: Copy + Ord> SharedLog<K> {
    /// Returns the state of a log that the hub has not read yet.
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(LogState {
                log: None,
                live_texts: BTreeMap::new(),
                is_deleted: false,
            }),
            change_notify: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, LogState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cursor up to which the hub has read the log. Returns `None` before the first read.
    pub(super) fn head(&self) -> Option<K> {
        self.state().log.as_ref().map(Ring::head)
    }

    /// Starts the frames after a cursor, for the first time or after a gap. `running` are the turns whose text is
    /// traced from now on.
    pub(super) fn reset(&self, cursor: K, running: Vec<RunId>) {
        let mut state = self.state();
        state.log = Some(Ring::starting_at(cursor));
        for run in running {
            state
                .live_texts
                .entry(run)
                .or_insert_with(|| Ring::starting_at(0));
        }
        drop(state);
        self.change_notify.notify_waiters();
    }

    /// Appends frames of a feed, and moves the head to the cursor up to which the feed was read.
    pub(super) fn extend(&self, frames: Vec<(K, Bytes)>, head: K) {
        let mut state = self.state();
        if let Some(log) = &mut state.log {
            for (cursor, frame) in frames {
                log.push(cursor, frame);
            }
            log.advance(head);
        }
        drop(state);
        self.change_notify.notify_waiters();
    }

    /// Marks the session as deleted.
    pub(super) fn mark_deleted(&self) {
        self.state().is_deleted = true;
        self.change_notify.notify_waiters();
    }

    /// Returns the running turns, each with the position up to which the hub has read their text.
    pub(super) fn live_positions(&self) -> Vec<(RunId, i64)> {
        let state = self.state();
        let live = state.live_texts.iter();
        live.map(|(run, ring)| (*run, ring.head())).collect()
    }

    /// Returns the next step of a reader with a cursor. `sent` are the positions up to which the reader has sent the
    /// text of each turn. Events come before text.
    pub(super) fn next_step(&self, at: K, sent: &mut Vec<(RunId, i64)>) -> Step<K> {
        let state = self.state();
        if state.is_deleted {
            return Step::Deleted;
        }
        let Some(log) = &state.log else {
            return Step::Wait(at);
        };
        let at = match log.first_after(at) {
            RingRead::Frame(cursor, frame) => return Step::Event(cursor, frame),
            RingRead::Behind => return Step::ReadPage,
            RingRead::UpToDate(cursor) => cursor,
        };
        match state.next_text(sent) {
            Some(step) => Step::Text(step),
            None => Step::Wait(at),
        }
    }

    /// Returns the next step of a reader of text alone. Returns `None` if there is no new text, and for a session that
    /// was deleted.
    pub(super) fn next_text(&self, sent: &mut Vec<(RunId, i64)>) -> Option<TextStep> {
        let state = self.state();
        if state.is_deleted {
            return None;
        }
        state.next_text(sent)
    }
}

impl SharedLog<i64> {
    /// Appends the events that the log of a session has after the head, and starts and ends the texts of turns with
    /// them.
    pub(super) fn append_events(&self, session: SessionId, events: Vec<LogEntry>) {
        let mut state = self.state();
        for logged in events {
            let event = &logged.event;
            let next = state.log.as_ref().map(|log| log.head() + 1);
            if next.is_some_and(|next| next != event.seq) {
                // Retention has removed events that the hub has not read. Start the ring anew, so that readers with
                // an earlier cursor read the table, where they find the gap and send a snapshot.
                state.log = Some(Ring::starting_at(event.seq - 1));
            }
            if let Change::Run { run_id, change } = &event.change {
                if change.status() == RunStatus::Running {
                    state
                        .live_texts
                        .entry(*run_id)
                        .or_insert_with(|| Ring::starting_at(0));
                } else {
                    state.live_texts.remove(run_id);
                }
            }
            if let Some(log) = &mut state.log {
                log.push(event.seq, frame::session_event(session, logged));
            }
        }
        drop(state);
        self.change_notify.notify_waiters();
    }

    /// Appends a piece of the text of a turn. Ignores a piece that does not continue at the head, such as one that
    /// was read twice, because a ring must have no gap.
    pub(super) fn append_text(&self, text: &LiveText) {
        if let Some(live) = self.state().live_texts.get_mut(&text.run)
            && live.head() == text.position
        {
            live.push(text.end(), frame::delta(text));
        }
        self.change_notify.notify_waiters();
    }
}
