//! Readers that follow the traces of sessions live, with reconnections, and record each event that they receive.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, Result};
use client::EventParser;
use serde_json::{Map, Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};

use super::{
    history::{ReceivedEvent, TraceRecording},
    http::Api,
    rng::Rng,
    workload::Workload,
};

/// The duration of one connection, in milliseconds. After it, the reader reconnects to a random replica.
const CONNECTION_MILLIS: std::ops::Range<u64> = 700..6000;
/// The pause before a retry after a failed request.
const RETRY_PAUSE: Duration = Duration::from_millis(300);
/// The maximum time to read the remaining events after the last sequence numbers are known.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of readers of each session to which people send messages.
const READERS_PER_SESSION: usize = 2;

/// The last sequence number of each session. `None` while sessions still grow.
type LastSeqs = Option<HashMap<String, i64>>;

/// The running readers.
pub(crate) struct Recorders {
    readers: JoinSet<Result<TraceRecording>>,
    last_seqs: watch::Sender<LastSeqs>,
}

impl Recorders {
    /// Starts the readers of the sessions to which people send messages, and one reader for each automation with a
    /// session of its own. Each reader writes its events to a file in `folder`.
    pub(crate) fn start(world: &Workload, folder: &Path, dice: &Rng) -> Result<Self> {
        let (sender, last_seqs) = watch::channel(None);
        let mut recorders = Self {
            readers: JoinSet::new(),
            last_seqs: sender,
        };
        for tenant in &world.tenants {
            for (talk, session) in tenant.message_sessions.iter().enumerate() {
                for reader in 0..READERS_PER_SESSION {
                    let name = format!("{}-talk-{talk}-{reader}", tenant.name);
                    let recorder =
                        Recorder::new(&tenant.api, folder, dice, name, last_seqs.clone())?;
                    recorders
                        .readers
                        .spawn(recorder.follow_session(session.clone()));
                }
            }
            for (number, automation) in tenant.continuous_automations.iter().enumerate() {
                let name = format!("{}-automation-{number}", tenant.name);
                let recorder = Recorder::new(&tenant.api, folder, dice, name, last_seqs.clone())?;
                recorders
                    .readers
                    .spawn(recorder.follow_automation(automation.clone()));
            }
        }
        Ok(recorders)
    }

    /// Passes the last sequence numbers to the readers, and returns their recordings when each reader has reached the
    /// end of its session or has given up after [`CATCH_UP_TIMEOUT`].
    pub(crate) async fn finish(
        mut self,
        ends: HashMap<String, i64>,
    ) -> Result<Vec<TraceRecording>> {
        self.last_seqs.send_replace(Some(ends));
        let mut recordings = Vec::new();
        while let Some(recording) = self.readers.join_next().await {
            recordings.push(recording??);
        }
        Ok(recordings)
    }
}

/// One reader.
struct Recorder {
    api: Api,
    rng: Rng,
    file: File,
    last_seqs: watch::Receiver<LastSeqs>,
    recording: TraceRecording,
}

impl Recorder {
    fn new(
        api: &Api,
        folder: &Path,
        dice: &Rng,
        name: String,
        last_seqs: watch::Receiver<LastSeqs>,
    ) -> Result<Self> {
        let path = folder.join(format!("{name}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            api: api.clone(),
            rng: dice.derive(&name),
            file,
            last_seqs,
            recording: TraceRecording {
                reader: name,
                ..TraceRecording::default()
            },
        })
    }

    /// Polls until the automation has a session, then follows the session. Returns a recording without a session if
    /// the automation has none at the end of the test.
    async fn follow_automation(self, automation: String) -> Result<TraceRecording> {
        let path = format!("/automations/{automation}");
        loop {
            let view = self.api.get(&path, RETRY_PAUSE);
            let view = view.await.map(|answer| answer.body).unwrap_or_default();
            if let Some(session) = view["session"]["id"].as_str() {
                let session = session.to_owned();
                return self.follow_session(session).await;
            }
            if self.last_seqs.borrow().is_some() {
                return Ok(self.recording);
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Follows a session until its last event is known and received, or until [`CATCH_UP_TIMEOUT`] is over.
    async fn follow_session(mut self, session: String) -> Result<TraceRecording> {
        self.recording.session.clone_from(&session);
        let mut late = None;
        loop {
            let last = self.recording.last_seq();
            let end = self
                .last_seqs
                .borrow()
                .as_ref()
                .map(|ends| ends.get(&session).copied().unwrap_or(0));
            if let Some(end) = end {
                let until = *late.get_or_insert_with(|| Instant::now() + CATCH_UP_TIMEOUT);
                if last >= end || Instant::now() > until {
                    return Ok(self.recording);
                }
            }
            // Reconnect after the last recorded event. The server must neither skip nor repeat an event.
            let leave = Instant::now() + self.rng.millis(CONNECTION_MILLIS);
            let Ok(mut response) = self.api.open_trace(&session, last).await else {
                self.recording.failed_opens += 1;
                sleep(RETRY_PAUSE).await;
                continue;
            };
            self.recording.connections += 1;
            let mut parser = EventParser::resuming_after(last.to_string());
            while let Ok(Ok(Some(bytes))) = timeout_at(leave, response.chunk()).await {
                for event in parser.feed(&bytes)? {
                    // A `delta` is live text without an ID and without a row, so there is nothing to compare it with.
                    if event.event != "delta" {
                        self.record(&event.event, &event.last_event_id, &event.data)?;
                    }
                }
                if end.is_some_and(|end| self.recording.last_seq() >= end) {
                    break;
                }
            }
        }
    }

    /// Records an event in memory and in the reader's file.
    fn record(&mut self, kind: &str, id: &str, data: &str) -> Result<()> {
        let data: Value = serde_json::from_str(data).context("the data of an event is not JSON")?;
        let line = json!({ "id": id, "event": kind, "data": data });
        writeln!(self.file, "{line}")?;
        self.recording.received.push(ReceivedEvent {
            seq: id.parse().unwrap_or(-1),
            kind: kind.to_owned(),
            reference: row_id(&data),
            body: stored_body(&data),
        });
        Ok(())
    }
}

/// Returns the ID of the row that an event is about, for events of this version and of earlier versions.
fn row_id(data: &Value) -> String {
    let name = match data["kind"].as_str() {
        // Servers from before the typed events use this name for every kind of row.
        _ if data["ref_id"].is_string() => "ref_id",
        Some("run") => "run_id",
        Some("message") => "message_id",
        Some("approval") => "approval_id",
        _ => "session_id",
    };
    data[name].as_str().unwrap_or_default().to_owned()
}

/// Reconstructs the body of an event's row from the event. The result equals the stored body if the server sent all
/// of it.
fn stored_body(data: &Value) -> Value {
    if data["body"].is_object() {
        return data["body"].clone();
    }
    let mut body = Map::new();
    flatten(&data["change"], &mut body);
    // The server derives the action of a session from the other keys of the row, so the row does not have it.
    body.remove("action");
    let names = match data["kind"].as_str() {
        Some("message") => &[
            ("role", "role"),
            ("message_kind", "kind"),
            ("to_seat_id", "to"),
        ][..],
        Some("approval") => &[
            ("run_id", "run_id"),
            ("tool_kind", "tool_kind"),
            ("title", "title"),
        ],
        _ => &[],
    };
    for (name, stored) in names {
        body.insert((*stored).to_owned(), data[*name].clone());
    }
    Value::Object(body)
}

/// Copies the keys of a typed `change` into a flat body, with the names that the row uses.
fn flatten(change: &Value, into: &mut Map<String, Value>) {
    for (name, value) in change.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("input" | "occurrences", Value::Object(_)) => flatten(value, into),
            ("count", _) => drop(into.insert("occurrences".to_owned(), value.clone())),
            // A null field must not overwrite a value that the input has set under the same name.
            (_, Value::Null) if into.contains_key(name) => {}
            _ => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_both_versions_match_stored_body() {
        let stored = json!({ "status": "queued", "origin": "person", "attempt": 1 });
        let before = json!({ "seq": 1, "kind": "run", "ref_id": "run_1", "body": stored });
        let now = json!({
            "kind": "run",
            "run_id": "run_1",
            "change": { "status": "queued", "input": { "origin": "person", "attempt": 1 } },
        });
        for data in [before, now] {
            assert_eq!(
                (row_id(&data).as_str(), stored_body(&data)),
                ("run_1", stored.clone())
            );
        }
        let missed = json!({
            "kind": "run",
            "change": { "status": "missed", "reason": "x", "occurrences": { "count": 2 } },
        });
        let stored = json!({ "status": "missed", "reason": "x", "occurrences": 2 });
        assert_eq!(stored_body(&missed), stored);
        let message = json!({ "kind": "message", "message_id": "msg_1", "role": "tool", "message_kind": "plan" });
        let stored = json!({ "role": "tool", "kind": "plan", "to": null });
        assert_eq!(
            (row_id(&message).as_str(), stored_body(&message)),
            ("msg_1", stored)
        );
        let renamed = json!({
            "kind": "session",
            "session_id": "ses_1",
            "change": { "action": "renamed", "state": "active", "title": "x" },
        });
        let stored = json!({ "state": "active", "title": "x" });
        assert_eq!(
            (row_id(&renamed).as_str(), stored_body(&renamed)),
            ("ses_1", stored)
        );
    }
}
