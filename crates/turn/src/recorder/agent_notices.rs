//! The rows of an agent's notices and compactions.
//!
//! Both are rows of the kind `notice` with the role of the agent, which earlier versions can read and show. `notice` in
//! their metadata tells them from each other and from the notices of Matins.

use agent::{CompactionUpdate, Notice};
use model::{
    limits,
    turn::{Entry, EntryKind, Role},
};
use serde_json::{Value, json};

use super::{MAX_ID_BYTES, MAX_TOOL_VALUE_BYTES, Recorder, head, json_length};

/// The longest description of a notice and the longest error of a compaction, in bytes.
const MAX_DETAIL_BYTES: usize = 4096;

/// The most compactions of a turn that later updates can change.
const MAX_COMPACTIONS: usize = 100;

impl Recorder {
    pub(super) fn add_notice(&mut self, notice: &Notice) {
        let title = head(&notice.title, limits::TITLE_BYTES);
        let description = notice.description.as_deref().unwrap_or_default();
        let description = head(description, MAX_DETAIL_BYTES);
        if !self.has_room(title.len() + description.len()) {
            return;
        }
        let severity = match &*notice.severity {
            known @ ("warning" | "error") => known,
            // A later version of the protocol may know others.
            _ => "info",
        };
        let content = match description {
            "" => title.to_owned(),
            description => format!("{title}\n{description}"),
        };
        let metadata = json!({
            "notice": "agent",
            "severity": severity,
            "title": title,
            "description": (!description.is_empty()).then_some(description),
            "answer_position": self.answer.len(),
        });
        let entry = self.new_notice(content, metadata);
        self.queue_row(entry);
    }

    pub(super) fn update_compaction(&mut self, change: &CompactionUpdate) {
        let id = head(&change.id, MAX_ID_BYTES).to_owned();
        let Some(mut entry) = self.take_compaction(&id) else {
            return;
        };
        let now = self.clock.now();
        let has_ended = change.status != "in_progress";
        let metadata = &mut entry.metadata;
        metadata["status"] = head(&change.status, MAX_ID_BYTES).into();
        metadata["ended_at"] = has_ended.then_some(json!(now)).unwrap_or_default();
        if let Some(error) = &change.error {
            metadata["error"] = optional_text(head(error, MAX_DETAIL_BYTES));
        }
        if has_ended
            && (change.status != "completed" || !metadata["tokens_after"].is_null())
            && self.compactions.unmeasured.as_ref() == Some(&id)
        {
            self.compactions.unmeasured = None;
        }
        if let Some(summary) = &change.summary {
            self.set_summary(&mut entry.metadata, summary);
        }
        self.queue_compaction(id, entry);
    }

    pub(super) fn append_summary(&mut self, id: &str, text: &str) {
        let id = head(id, MAX_ID_BYTES).to_owned();
        let Some(mut entry) = self.take_compaction(&id) else {
            return;
        };
        let summary = entry.metadata["summary"].as_str().unwrap_or_default();
        let summary = format!("{summary}{text}");
        self.set_summary(&mut entry.metadata, &summary);
        self.queue_compaction(id, entry);
    }

    /// Records the size of the context, and the size after the newest compaction.
    pub(super) fn record_context_tokens(&mut self, tokens: u64) {
        self.compactions.context_tokens = Some(tokens);
        let Some(id) = self.compactions.unmeasured.take() else {
            return;
        };
        let Some(mut entry) = self.compactions.rows.remove(&id) else {
            return;
        };
        entry.metadata["tokens_after"] = tokens.into();
        // The agent may report sizes while the compaction goes on. The last one of them counts.
        if entry.metadata["status"] == "in_progress" {
            self.compactions.unmeasured = Some(id.clone());
        }
        self.queue_compaction(id, entry);
    }

    /// Ends the compactions that go on at the end of the turn.
    pub(super) fn end_compactions(&mut self) {
        let rows = std::mem::take(&mut self.compactions.rows);
        for mut entry in rows.into_values() {
            if entry.metadata["status"] == "in_progress" {
                entry.content = "The agent was compacting its context when the turn ended.".into();
                self.queue_changed_row(entry);
            }
        }
    }

    /// Removes and returns the row of a compaction, or returns a new row. Returns `None` if the turn has too many
    /// compactions.
    fn take_compaction(&mut self, id: &str) -> Option<Entry> {
        if let Some(entry) = self.compactions.rows.remove(id) {
            return Some(entry);
        }
        if self.compactions.rows.len() >= MAX_COMPACTIONS {
            self.dropped_rows += 1;
            return None;
        }
        self.compactions.unmeasured = Some(id.to_owned());
        let metadata = json!({
            "notice": "compaction",
            "compaction_id": id,
            "status": "in_progress",
            "summary": null,
            "error": null,
            "tokens_before": self.compactions.context_tokens,
            "tokens_after": null,
            "answer_position": self.answer.len(),
            "started_at": self.clock.now(),
            "ended_at": null,
        });
        let entry = self.new_notice(String::new(), metadata);
        // The row takes its place now, so that a change finds it.
        self.queue_row(entry.clone());
        Some(entry)
    }

    fn queue_compaction(&mut self, id: String, mut entry: Entry) {
        entry.content = compaction_text(&entry.metadata);
        self.compactions.rows.insert(id, entry.clone());
        self.queue_changed_row(entry);
    }

    /// Sets the summary of a compaction. Keeps the beginning of a summary that is too long, and nothing of one for which
    /// the turn has no room.
    fn set_summary(&mut self, metadata: &mut Value, summary: &str) {
        self.kept_bytes = self
            .kept_bytes
            .saturating_sub(json_length(&metadata["summary"]));
        let room = limits::TURN_BYTES.saturating_sub(self.kept_bytes);
        let kept = head(summary, room.min(MAX_TOOL_VALUE_BYTES));
        metadata["summary"] = optional_text(kept);
        self.kept_bytes += json_length(&metadata["summary"]);
    }

    /// Counts the bytes of a row. Returns `false`, and counts a dropped row, if the turn has no room for them.
    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.kept_bytes + bytes <= limits::TURN_BYTES;
        if has_room {
            self.kept_bytes += bytes;
        } else {
            self.dropped_rows += 1;
        }
        has_room
    }

    fn new_notice(&mut self, content: String, metadata: Value) -> Entry {
        // Text after the notice begins a new paragraph.
        self.needs_separator = true;
        Entry {
            id: self.new_id(),
            role: Role::Assistant,
            kind: EntryKind::Notice,
            content,
            metadata,
        }
    }
}

/// Returns a text, or null if it is empty.
fn optional_text(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        text.into()
    }
}

/// Returns the text of a compaction, with the sizes if both are known.
fn compaction_text(metadata: &Value) -> String {
    let tokens = |name: &str| metadata[name].as_u64();
    match metadata["status"].as_str().unwrap_or_default() {
        "in_progress" => match tokens("tokens_before") {
            Some(before) => format!("The agent is compacting its context of {before} tokens."),
            None => "The agent is compacting its context.".into(),
        },
        "completed" => match (tokens("tokens_before"), tokens("tokens_after")) {
            (Some(before), Some(after)) => {
                format!("The agent compacted its context from {before} to {after} tokens.")
            }
            (None, Some(after)) => format!("The agent compacted its context to {after} tokens."),
            (_, None) => "The agent compacted its context.".into(),
        },
        "failed" => match metadata["error"].as_str() {
            Some(error) => format!("The agent could not compact its context: {error}"),
            None => "The agent could not compact its context.".into(),
        },
        "cancelled" => "The agent cancelled the compaction of its context.".into(),
        other => format!("The compaction of the agent's context is in the state `{other}`."),
    }
}
