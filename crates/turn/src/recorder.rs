//! The recorder: turns an agent's updates into rows of the transcript.
//!
//! The recorder bounds everything that it keeps, because an agent may send updates without end. Rows stay pending
//! until the store has written them; a second write of the same row replaces the first.
//!
//! **Invariant:** the answer of a turn is one row, which the end of the run writes. Each other row names its position
//! in that answer (`answer_position`, in bytes, as in the live text), so that readers can show thoughts, tools and
//! text in the order in which they came.

mod agent_notices;
mod compactions;

use std::{collections::HashMap, io, sync::Arc};

use agent::{Decision, PlanEntry, ToolCall, ToolCallUpdate, Update};
use model::{
    Clock, Entropy, MessageId, Timestamp,
    budget::{Meter, RunUsage, UsageReport},
    limits,
    run::RunFlags,
    turn::{Entry, EntryKind, Role, SeatMemory},
};
use serde_json::{Value, json};

use self::compactions::Compactions;

/// The longest input, output, content or list of files of a tool call in the transcript, each in bytes of JSON.
const MAX_TOOL_VALUE_BYTES: usize = 64 * 1024;

/// The longest ID, kind or status of a tool call, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The updates of one turn and the rows made from them.
pub(crate) struct Recorder {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// The answer so far.
    answer: String,
    /// The length of the answer's beginning that viewers have already received, in bytes.
    sent_bytes: usize,
    /// `true` if a tool call or permission request separates the last piece of the answer from the next.
    needs_separator: bool,
    thought: String,
    /// The instants of the first and the last piece of the thought.
    thought_span: Option<(Timestamp, Timestamp)>,
    tool_calls: HashMap<String, Entry>,
    plan: Option<Entry>,
    compactions: Compactions,
    /// The size of the rows' contents beside their short fields, in bytes.
    kept_bytes: usize,
    /// The rows that are not written yet. A row that changes again before it is written occurs once.
    pending: Vec<Entry>,
    rows: usize,
    dropped_rows: usize,
    flags: RunFlags,
    usage: Option<Value>,
    meter: Meter,
    title: Option<String>,
    /// The number of updates whose kinds have no place in the transcript.
    ignored_updates: usize,
}

impl Recorder {
    /// Returns a recorder for the next turn of a seat. If the seat has a memory, the meter continues from the usage
    /// that the agent reported last, because agents report totals of the session. Otherwise the new session starts at
    /// zero.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        memory: &SeatMemory,
    ) -> Self {
        let meter = match &memory.acp_session_id {
            Some(_) => Meter::resumed(memory.usage.as_ref().and_then(UsageReport::of)),
            None => Meter::default(),
        };
        Self {
            clock,
            entropy,
            answer: String::new(),
            sent_bytes: 0,
            needs_separator: false,
            thought: String::new(),
            thought_span: None,
            tool_calls: HashMap::new(),
            plan: None,
            compactions: Compactions::of_memory(memory),
            kept_bytes: 0,
            pending: Vec::new(),
            rows: 0,
            dropped_rows: 0,
            flags: RunFlags::default(),
            usage: None,
            meter,
            title: None,
            ignored_updates: 0,
        }
    }

    pub(crate) fn record(&mut self, update: Update) {
        // 1. End the thought. Any other update ends it, so that the rows of the transcript keep the order of the
        // updates.
        if !matches!(update, Update::Thought(_)) {
            self.end_thought();
        }
        // 2. Record the update. Limits cut texts and drop rows instead of failing, so that a verbose agent can still
        // end its turn.
        match update {
            Update::Text(text) => self.append_text(&text),
            Update::Thought(text) => {
                let now = self.clock.now();
                let began = self.thought_span.map_or(now, |(began, _)| began);
                self.thought_span = Some((began, now));
                let room = limits::CONTENT_BYTES.saturating_sub(self.thought.len());
                self.thought.push_str(head(&text, room));
            }
            Update::ToolCall(call) => self.add_tool_call(call),
            Update::ToolCallUpdate(change) => self.update_tool_call(change),
            Update::Plan(steps) => self.set_plan(&steps),
            Update::Usage(usage) => {
                self.record_context_tokens(usage.used);
                let cost = usage
                    .cost
                    .map(|cost| json!({ "amount": cost.amount, "currency": cost.currency }));
                let mut usage = json!({ "used": usage.used, "size": usage.size, "cost": cost });
                if let Some(reading) = UsageReport::of(&usage) {
                    self.meter.record(&reading);
                }
                // The meter of the next turn starts from `costs`, and the store counts `spent`.
                usage["costs"] = json!(self.meter.costs());
                usage["spent"] = json!(self.meter.usage());
                self.usage = Some(usage);
            }
            Update::Notice(notice) => self.add_notice(&notice),
            Update::Compaction(change) => self.update_compaction(&change),
            Update::CompactionSummary { id, text } => self.append_summary(&id, &text),
            Update::Title(title) => {
                self.title = title.map(|title| head(&title, limits::TITLE_BYTES).to_owned());
            }
            Update::Permission { request, decision } => {
                let decided = match decision {
                    Decision::Allow => "allowed",
                    Decision::Deny => "denied",
                    Decision::Cancelled => "cancelled",
                };
                if decision == Decision::Deny {
                    self.flags.permissions_denied += 1;
                }
                // The decision gets a row of its own, so that the transcript shows it even if the agent never reports
                // the tool call.
                let title = head(&request.subject.title, limits::TITLE_BYTES);
                let content = format!("Permission {decided}: {title}");
                let metadata = json!({
                    "tool_call_id": head(&request.tool_call, MAX_ID_BYTES),
                    "tool_kind": head(&request.subject.tool_kind, MAX_ID_BYTES),
                    "decision": decided,
                    "answer_position": self.answer.len(),
                });
                let id = self.new_id();
                // Text after the decision begins a new paragraph.
                self.needs_separator = true;
                self.queue_row(Entry {
                    id,
                    role: Role::System,
                    kind: EntryKind::Permission,
                    content,
                    metadata,
                });
            }
            // These updates have no place in the transcript. The diagnostics show their number.
            Update::ModeChanged(_)
            | Update::SettingsChanged(_)
            | Update::Commands(_)
            | Update::Other(_) => self.ignored_updates += 1,
        }
    }

    fn append_text(&mut self, text: &str) {
        if self.needs_separator && !self.answer.is_empty() && !self.answer.ends_with('\n') {
            self.answer.push_str("\n\n");
        }
        self.needs_separator = false;
        // Text beyond the limit is dropped and flagged, but the turn continues.
        let room = limits::ANSWER_BYTES.saturating_sub(self.answer.len());
        let kept = text.floor_char_boundary(room.min(text.len()));
        self.flags.answer_cut |= kept < text.len();
        self.answer.push_str(&text[..kept]);
    }

    fn end_thought(&mut self) {
        let (started_at, ended_at) = self.thought_span.take().unzip();
        if self.thought.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.thought);
        if self.kept_bytes + content.len() > limits::TURN_BYTES {
            self.dropped_rows += 1;
            return;
        }
        self.kept_bytes += content.len();
        let id = self.new_id();
        let kind = EntryKind::Thought;
        self.queue_row(Entry {
            id,
            role: Role::Assistant,
            kind,
            content,
            metadata: json!({
                "answer_position": self.answer.len(),
                "started_at": started_at,
                "ended_at": ended_at,
            }),
        });
    }

    fn set_plan(&mut self, steps: &[PlanEntry]) {
        let lines = steps
            .iter()
            .map(|step| format!("[{}] {}", step.status, step.content));
        let content = lines.collect::<Vec<_>>().join("\n");
        let content = head(&content, MAX_TOOL_VALUE_BYTES).to_owned();
        let steps = steps.iter().map(
            |step| json!({ "content": step.content, "priority": step.priority, "status": step.status }),
        );
        let steps = Some(steps.collect());
        // A new plan replaces the old one in its row, so that the transcript shows one plan per turn.
        let previous = self.plan.take();
        let old = previous.as_ref().map(|entry| &entry.metadata["entries"]);
        // The row keeps its position in the answer, because it keeps its place in the transcript.
        let position = match &previous {
            Some(entry) => entry.metadata["answer_position"].clone(),
            None => self.answer.len().into(),
        };
        let metadata = json!({
            "entries": self.bound_value(steps, old),
            "answer_position": position,
        });
        let entry = Entry {
            id: previous
                .as_ref()
                .map_or_else(|| self.new_id(), |entry| entry.id),
            role: Role::Assistant,
            kind: EntryKind::Plan,
            content,
            metadata,
        };
        self.plan = Some(entry.clone());
        if previous.is_some() {
            self.queue_changed_row(entry);
        } else {
            self.queue_row(entry);
        }
    }

    fn add_tool_call(&mut self, mut call: ToolCall) {
        self.flags.tool_calls += 1;
        self.needs_separator = true;
        call.id.truncate(call.id.floor_char_boundary(MAX_ID_BYTES));
        let now = self.clock.now();
        let metadata = json!({
            "tool_call_id": call.id,
            "tool_kind": head(&call.kind, MAX_ID_BYTES),
            "status": head(&call.status, MAX_ID_BYTES),
            "input": self.bound_value(call.input, None),
            "output": self.bound_value(call.output, None),
            "content": self.bound_value(call.content, None),
            "locations": self.bound_value(call.locations, None),
            "answer_position": self.answer.len(),
            "started_at": now,
            "ended_at": has_ended(&call.status).then_some(now),
        });
        let id = self.new_id();
        let entry = Entry {
            id,
            role: Role::Tool,
            kind: EntryKind::ToolCall,
            content: head(&call.title, limits::TITLE_BYTES).to_owned(),
            metadata,
        };
        // Beyond this number, a change of the call becomes a new row, which `add` then drops.
        if self.tool_calls.len() < limits::UPDATES_PER_TURN {
            self.tool_calls.insert(call.id, entry.clone());
        }
        self.queue_row(entry);
    }

    fn update_tool_call(&mut self, change: ToolCallUpdate) {
        let Some(mut entry) = self.tool_calls.remove(head(&change.id, MAX_ID_BYTES)) else {
            // Some agents report a call for the first time by a change of it.
            return self.add_tool_call(ToolCall {
                id: change.id,
                title: change.title.unwrap_or_default(),
                kind: change.kind.unwrap_or_else(|| "other".into()),
                status: change.status.unwrap_or_else(|| "pending".into()),
                input: change.input,
                output: change.output,
                content: change.content,
                locations: change.locations,
            });
        };
        if let Some(title) = change.title {
            head(&title, limits::TITLE_BYTES).clone_into(&mut entry.content);
        }
        if let Some(kind) = change.kind {
            entry.metadata["tool_kind"] = head(&kind, MAX_ID_BYTES).into();
        }
        if let Some(status) = change.status {
            self.set_tool_call_status(&mut entry.metadata, &status);
        }
        for (name, value) in [
            ("input", change.input),
            ("output", change.output),
            ("content", change.content),
            ("locations", change.locations),
        ] {
            if value.is_some() {
                entry.metadata[name] = self.bound_value(value, Some(&entry.metadata[name]));
            }
        }
        self.needs_separator = true;
        self.tool_calls
            .insert(head(&change.id, MAX_ID_BYTES).to_owned(), entry.clone());
        self.queue_changed_row(entry);
    }

    /// Sets the status of a tool call and the instants that follow from it. A call that waits for a permission is
    /// `pending`, so that its start moves to the instant at which it is `in_progress`.
    fn set_tool_call_status(&self, metadata: &mut Value, status: &str) {
        let now = self.clock.now();
        if metadata["status"] == "pending" && status == "in_progress" {
            metadata["started_at"] = json!(now);
        }
        if !has_ended(status) {
            metadata["ended_at"] = Value::Null;
        } else if metadata["ended_at"].is_null() {
            metadata["ended_at"] = json!(now);
        }
        metadata["status"] = head(status, MAX_ID_BYTES).into();
    }

    /// Returns a value of a tool call or a plan that replaces `old`, or an object with its length if the transcript has no room for
    /// it.
    fn bound_value(&mut self, value: Option<Value>, old: Option<&Value>) -> Value {
        // Release the room of `old` first, so that repeated updates of one call do not use up the turn's limit.
        self.kept_bytes = self.kept_bytes.saturating_sub(old.map_or(0, json_length));
        let Some(value) = value else {
            return Value::Null;
        };
        let bytes = json_length(&value);
        let fits = bytes <= MAX_TOOL_VALUE_BYTES && self.kept_bytes + bytes <= limits::TURN_BYTES;
        let kept = if fits {
            value
        } else {
            json!({ "omitted_bytes": bytes })
        };
        self.kept_bytes += json_length(&kept);
        kept
    }

    fn new_id(&self) -> MessageId {
        MessageId::generate(self.clock.now(), &*self.entropy)
    }

    /// Queues a changed row. Searches from the end, because the row that changed last is usually there.
    fn queue_changed_row(&mut self, entry: Entry) {
        let mut pending = self.pending.iter_mut().rev();
        match pending.find(|row| row.id == entry.id) {
            Some(row) => *row = entry,
            None => self.queue_row(entry),
        }
    }

    fn queue_row(&mut self, entry: Entry) {
        if self.rows < limits::UPDATES_PER_TURN {
            self.rows += 1;
            self.pending.push(entry);
        } else {
            self.dropped_rows += 1;
        }
    }

    /// Returns the rows to write. They stay pending until [`Recorder::remove_written`] removes them.
    pub(crate) fn pending(&self) -> &[Entry] {
        &self.pending
    }

    /// Removes the first `count` pending rows, after they were written.
    pub(crate) fn remove_written(&mut self, count: usize) {
        self.pending.drain(..count.min(self.pending.len()));
    }

    /// Returns the text that viewers have not received yet, with its position in bytes.
    pub(crate) fn unsent_text(&self) -> (u64, &str) {
        (self.sent_bytes as u64, &self.answer[self.sent_bytes..])
    }

    /// Marks the next `bytes` of the answer as received by the viewers.
    pub(crate) fn mark_sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes;
    }

    /// Returns the agent's last report of usage, together with the usage of the turn so far. Returns `None` if the
    /// agent has reported nothing.
    pub(crate) fn usage(&self) -> Option<&Value> {
        self.usage.as_ref()
    }

    /// Returns the usage of the turn so far.
    pub(crate) fn turn_usage(&self) -> &RunUsage {
        self.meter.usage()
    }

    /// Ends the recording and returns its result.
    pub(crate) fn end(mut self) -> RecordedTurn {
        self.end_thought();
        self.end_compactions();
        self.flags.empty_answer = self.answer.trim().is_empty();
        RecordedTurn {
            answer: self.answer,
            pending: self.pending,
            flags: self.flags,
            usage: self.usage,
            title: self.title,
            diagnostics: json!({ "rows_dropped": self.dropped_rows, "updates_ignored": self.ignored_updates }),
        }
    }
}

/// The result of recording a turn.
pub(crate) struct RecordedTurn {
    pub(crate) answer: String,
    pub(crate) pending: Vec<Entry>,
    pub(crate) flags: RunFlags,
    pub(crate) usage: Option<Value>,
    pub(crate) title: Option<String>,
    pub(crate) diagnostics: Value,
}

/// Returns `true` if a tool call with this status has ended.
fn has_ended(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

/// Returns the longest beginning of a text that fits into `bytes`.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the length of a value as JSON, in bytes. Writes no copy of it.
fn json_length(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = ByteCounter(0);
    serde_json::to_writer(&mut counted, value).ok();
    counted.0
}
