//! Encoding of frames, the units of Server-Sent Events:
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>
//!
//! The data of each frame is a [`TraceEvent`] as JSON. JSON escapes line ends, so that the data is one line, as the
//! format requires.

use std::fmt::Display;

use api_types::TraceEvent;
use bytes::Bytes;
use model::{
    SessionId,
    approval::Approval,
    entity::{Run, Session},
    feed::FeedCursor,
};
use service::trace_events;
use store::{FeedEvent, LiveText, LogEntry};

/// The first frame of a trace: the number of milliseconds that a browser waits before it connects again.
pub(super) const RETRY_FRAME: &[u8] = b"retry: 2000\n\n";
/// The keep-alive: a comment, which clients ignore. It keeps proxies from closing a connection without traffic.
pub(super) const HEARTBEAT_FRAME: &[u8] = b": \n\n";

/// Returns the frame for an event of a session's log.
pub(super) fn session_event(session: SessionId, logged: LogEntry) -> Bytes {
    let seq = logged.event.seq;
    encode(Some(&seq), &trace_events::session_event(session, logged))
}

/// Returns the frame for an event of a feed.
pub(super) fn feed_event(fed: FeedEvent) -> Bytes {
    let cursor = fed.cursor;
    encode(Some(&cursor), &trace_events::feed_event(fed))
}

/// Returns the frame for text that a turn is writing. It has no ID, so that a client that connects again continues
/// after the last event of the log. The log gets the whole text when the turn ends.
pub(super) fn delta(text: &LiveText) -> Bytes {
    encode(None::<&i64>, &trace_events::delta(text))
}

/// Returns the frame with a snapshot of a session, for a reader whose next events were removed by retention. The
/// reader continues after the number of the newest event of the session.
pub(super) fn session_resync(session: Session, open: Vec<Run>, waiting: Vec<Approval>) -> Bytes {
    let last_seq = session.last_seq;
    let event = trace_events::resync(session, open, waiting);
    encode(Some(&last_seq), &event)
}

/// Returns the frame with a snapshot of a feed, for a reader whose next events were removed by retention. The reader
/// continues after `from`.
pub(super) fn feed_resync(from: FeedCursor, open: Vec<Run>, waiting: Vec<Approval>) -> Bytes {
    encode(Some(&from), &trace_events::feed_resync(from, open, waiting))
}

/// Returns the last frame of the trace of a session that was deleted.
pub(super) fn session_deleted(session: SessionId) -> Bytes {
    encode(None::<&i64>, &trace_events::session_deleted(session))
}

/// Encodes an event. The name of the event is its `kind`.
fn encode(id: Option<&impl Display>, event: &TraceEvent) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("{id}event: {}\ndata: {data}\n\n", event.tag()).into()
}
