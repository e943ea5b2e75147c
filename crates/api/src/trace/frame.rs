//! Frames of Server-Sent Events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>
//!
//! The data of each frame is a [`TraceEvent`] as JSON. JSON escapes line ends, so the data is one line.

use std::fmt::Display;

use bytes::Bytes;
use model::{
    SessionId,
    approval::Approval,
    entity::{Run, Session},
    feed::FeedCursor,
};
use service::trace_events;
use store::{FeedEvent, LiveText, Logged};
use wire::TraceEvent;

/// The first frame: how many milliseconds a browser waits before it connects again.
pub(super) const RETRY: &[u8] = b"retry: 2000\n\n";
/// A comment, so that proxies do not close a connection that has nothing to send.
pub(super) const HEARTBEAT: &[u8] = b": \n\n";

/// Returns the frame for an event of a session's log.
pub(super) fn logged(session: SessionId, logged: Logged) -> Bytes {
    let seq = logged.event.seq;
    frame(Some(&seq), &trace_events::session_event(session, logged))
}

/// Returns the frame for an event of a feed.
pub(super) fn fed(fed: FeedEvent) -> Bytes {
    let cursor = fed.cursor;
    frame(Some(&cursor), &trace_events::feed_event(fed))
}

/// Returns the frame for text that a turn is writing. It has no ID, because the log gets the whole text later.
pub(super) fn delta(text: &LiveText) -> Bytes {
    frame(None::<&i64>, &trace_events::delta(text))
}

/// Returns a snapshot of a session, for a reader that missed events that are gone. The reader continues after
/// the session's newest number.
pub(super) fn session_resync(session: Session, open: Vec<Run>, waiting: Vec<Approval>) -> Bytes {
    let last_seq = session.last_seq;
    let event = trace_events::resync(session, open, waiting);
    frame(Some(&last_seq), &event)
}

/// Returns a snapshot of a feed, for a reader that missed events that are gone. The reader continues after
/// `from`.
pub(super) fn feed_resync(from: FeedCursor, open: Vec<Run>, waiting: Vec<Approval>) -> Bytes {
    frame(Some(&from), &trace_events::feed_resync(from, open, waiting))
}

/// Returns the last frame of the trace of a session that was deleted.
pub(super) fn deleted(session: SessionId) -> Bytes {
    frame(None::<&i64>, &trace_events::session_deleted(session))
}

fn frame(id: Option<&impl Display>, event: &TraceEvent) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("{id}event: {}\ndata: {data}\n\n", event.tag()).into()
}
