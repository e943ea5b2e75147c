//! Frames of Server-Sent Events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>
//!
//! Data is JSON, which escapes line ends, so that it is one line.

use std::fmt::Display;

use bytes::Bytes;
use model::{
    SessionId,
    approval::Approval,
    entity::{Run, Session},
};
use serde::Serialize;
use serde_json::{Value, json};
use store::{FeedEvent, LiveText, Logged};

/// The first frame: how many milliseconds a browser waits before it connects again.
pub(super) const RETRY: &[u8] = b"retry: 2000\n\n";
/// A comment, so that whoever stands between does not take the connection for dead.
pub(super) const HEARTBEAT: &[u8] = b": \n\n";

/// An event of a session's log.
pub(super) fn logged(logged: &Logged) -> Bytes {
    let Logged { event, message } = logged;
    let mut data = json!(event);
    if let (Some(message), Value::Object(data)) = (message, &mut data) {
        data.insert(
            "message".to_owned(),
            json!(wire::Message::from(message.clone())),
        );
    }
    frame(Some(&event.seq), &event.kind, &data)
}

/// An event of a feed.
pub(super) fn fed(fed: &FeedEvent) -> Bytes {
    let mut data = json!(fed.event);
    if let Value::Object(data) = &mut data {
        data.insert("session_id".to_owned(), json!(fed.session_id));
        data.insert("automation_id".to_owned(), json!(fed.automation_id));
        if let Some(message) = &fed.message {
            data.insert(
                "message".to_owned(),
                json!(wire::Message::from(message.clone())),
            );
        }
    }
    frame(Some(&fed.cursor), &fed.event.kind, &data)
}

/// Text that a turn is writing: it has no id, since the log will have the whole of it.
pub(super) fn delta(text: &LiveText) -> Bytes {
    let data = json!({ "run_id": text.run, "position": text.position, "text": text.text });
    frame(None::<&i64>, "delta", &data)
}

/// A session as it is, for whoever has missed events that are gone: it goes on from its newest number.
pub(super) fn session_resync(session: &Session, open: &[Run], waiting: &[Approval]) -> Bytes {
    let (open, waiting) = (shown_runs(open), shown_approvals(waiting));
    let data = json!({
        "session": wire::Session::from(session.clone()),
        "last_seq": session.last_seq,
        "runs": open,
        "approvals": waiting,
    });
    frame(Some(&session.last_seq), "resync", &data)
}

/// Where a feed goes on for whoever has missed events that are gone, with what is under way.
pub(super) fn feed_resync(from: &impl Display, open: &[Run], waiting: &[Approval]) -> Bytes {
    let (open, waiting) = (shown_runs(open), shown_approvals(waiting));
    let data = json!({ "cursor": from.to_string(), "runs": open, "approvals": waiting });
    frame(Some(from), "resync", &data)
}

fn shown_runs(runs: &[Run]) -> Vec<wire::Run> {
    runs.iter().cloned().map(Into::into).collect()
}

fn shown_approvals(approvals: &[Approval]) -> Vec<wire::Approval> {
    approvals.iter().cloned().map(Into::into).collect()
}

/// The end of a trace of a session that is gone.
pub(super) fn deleted(session: SessionId) -> Bytes {
    let data = json!({ "session_id": session, "deleted": true });
    frame(None::<&i64>, "session", &data)
}

fn frame(id: Option<&impl Display>, event: &str, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("{id}event: {event}\ndata: {data}\n\n").into()
}
