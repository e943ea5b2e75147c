//! What an agent tells during a turn, made into rows of the transcript.

use std::{collections::HashMap, sync::Arc};

use agent::{Decision, ToolCall, Update};
use model::{
    Clock, Entropy, MessageId,
    entity::RunFlags,
    limits,
    turn::{Entry, EntryKind, Role},
};
use serde_json::{Value, json};

/// The longest input or output of a tool call that the transcript keeps, in bytes of JSON.
const TOOL_BYTES: usize = 64 * 1024;

/// Collects a turn's updates.
pub(crate) struct Recorder {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// The answer so far.
    answer: String,
    /// How much of the answer viewers have seen, in bytes.
    shown: usize,
    /// Whether something stood between the last piece of the answer and the next.
    parted: bool,
    thought: String,
    tool_calls: HashMap<String, Entry>,
    plan: Option<MessageId>,
    /// Rows that are not written yet. A row that changed before it was written is there once.
    pending: Vec<Entry>,
    rows: usize,
    dropped: usize,
    flags: RunFlags,
    usage: Option<Value>,
    title: Option<String>,
    /// Updates of kinds that the transcript has no place for.
    others: usize,
}

impl Recorder {
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            clock,
            entropy,
            answer: String::new(),
            shown: 0,
            parted: false,
            thought: String::new(),
            tool_calls: HashMap::new(),
            plan: None,
            pending: Vec::new(),
            rows: 0,
            dropped: 0,
            flags: RunFlags::default(),
            usage: None,
            title: None,
            others: 0,
        }
    }

    pub(crate) fn take(&mut self, update: Update) {
        if !matches!(update, Update::Thought(_)) {
            self.end_thought();
        }
        match update {
            Update::Text(text) => self.text(&text),
            Update::Thought(text) => {
                if self.thought.len() < limits::CONTENT_BYTES {
                    self.thought.push_str(&text);
                }
            }
            Update::ToolCall(call) => self.tool_call(call),
            Update::ToolCallUpdate {
                id,
                title,
                kind,
                status,
                input,
                output,
            } => {
                self.tool_call_update(id, title, kind, status, input, output);
            }
            Update::Plan(steps) => {
                let shown = steps
                    .iter()
                    .map(|step| format!("[{}] {}", step.status, step.content));
                let content = shown.collect::<Vec<_>>().join("\n");
                let steps = steps.iter().map(|step| {
                    json!({ "content": step.content, "priority": step.priority, "status": step.status })
                });
                let metadata = json!({ "entries": steps.collect::<Vec<_>>() });
                let id = self.plan.unwrap_or_else(|| self.new_id());
                self.plan = Some(id);
                self.write(Entry {
                    id,
                    role: Role::Assistant,
                    kind: EntryKind::Plan,
                    content,
                    metadata,
                });
            }
            Update::Usage(usage) => {
                let cost = usage
                    .cost
                    .map(|cost| json!({ "amount": cost.amount, "currency": cost.currency }));
                self.usage = Some(json!({ "used": usage.used, "size": usage.size, "cost": cost }));
            }
            Update::Title(title) => self.title = title,
            Update::Permission { request, decision } => {
                let decided = match decision {
                    Decision::Allow => "allowed",
                    Decision::Deny => "denied",
                    Decision::Cancelled => "cancelled",
                };
                if decision == Decision::Deny {
                    self.flags.permissions_denied += 1;
                }
                let content = format!("Permission {decided}: {}", request.about.title);
                let metadata = json!({
                    "tool_call_id": request.tool_call,
                    "tool_kind": request.about.tool_kind,
                    "decision": decided,
                });
                let id = self.new_id();
                self.parted = true;
                self.write(Entry {
                    id,
                    role: Role::System,
                    kind: EntryKind::Permission,
                    content,
                    metadata,
                });
            }
            Update::ModeChanged(_)
            | Update::SettingsChanged(_)
            | Update::Commands(_)
            | Update::Other(_) => self.others += 1,
        }
    }

    fn text(&mut self, text: &str) {
        if self.parted && !self.answer.is_empty() && !self.answer.ends_with('\n') {
            self.answer.push_str("\n\n");
        }
        self.parted = false;
        let room = limits::ANSWER_BYTES.saturating_sub(self.answer.len());
        let kept = text.floor_char_boundary(room.min(text.len()));
        self.flags.answer_cut |= kept < text.len();
        self.answer.push_str(&text[..kept]);
    }

    fn end_thought(&mut self) {
        if self.thought.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.thought);
        let id = self.new_id();
        let kind = EntryKind::Thought;
        self.write(Entry {
            id,
            role: Role::Assistant,
            kind,
            content,
            metadata: json!({}),
        });
    }

    fn tool_call(&mut self, call: ToolCall) {
        self.flags.tool_calls += 1;
        self.parted = true;
        let metadata = json!({
            "tool_call_id": call.id,
            "tool_kind": call.kind,
            "status": call.status,
            "input": bounded(call.input),
            "output": bounded(call.output),
        });
        let id = self.new_id();
        let entry = Entry {
            id,
            role: Role::Tool,
            kind: EntryKind::ToolCall,
            content: call.title,
            metadata,
        };
        if self.tool_calls.len() < limits::UPDATES_PER_TURN {
            self.tool_calls.insert(call.id, entry.clone());
        }
        self.write(entry);
    }

    fn tool_call_update(
        &mut self,
        id: String,
        title: Option<String>,
        kind: Option<String>,
        status: Option<String>,
        input: Option<Value>,
        output: Option<Value>,
    ) {
        let Some(entry) = self.tool_calls.get_mut(&id) else {
            // Some agents tell of a call for the first time by a change of it.
            let call = ToolCall {
                id,
                title: title.unwrap_or_default(),
                kind: kind.unwrap_or_else(|| "other".into()),
                status: status.unwrap_or_else(|| "pending".into()),
                input,
                output,
            };
            return self.tool_call(call);
        };
        if let Some(title) = title {
            entry.content = title;
        }
        for (name, value) in [
            ("tool_kind", kind.map(Value::from)),
            ("status", status.map(Value::from)),
            ("input", input.map(|input| bounded(Some(input)))),
            ("output", output.map(|output| bounded(Some(output)))),
        ] {
            if let Some(value) = value {
                entry.metadata[name] = value;
            }
        }
        let entry = entry.clone();
        self.parted = true;
        self.write(entry);
    }

    fn new_id(&self) -> MessageId {
        MessageId::generate(self.clock.now(), &*self.entropy)
    }

    fn write(&mut self, entry: Entry) {
        if let Some(waiting) = self
            .pending
            .iter_mut()
            .find(|waiting| waiting.id == entry.id)
        {
            *waiting = entry;
        } else if self.rows < limits::UPDATES_PER_TURN {
            self.rows += 1;
            self.pending.push(entry);
        } else {
            self.dropped += 1;
        }
    }

    /// Rows that are to be written. They stay until [`Recorder::written`].
    pub(crate) fn pending(&self) -> &[Entry] {
        &self.pending
    }

    /// The first `count` pending rows are written.
    pub(crate) fn written(&mut self, count: usize) {
        self.pending.drain(..count.min(self.pending.len()));
    }

    /// Text that viewers have not seen, with its position.
    pub(crate) fn unseen(&self) -> (u64, &str) {
        (self.shown as u64, &self.answer[self.shown..])
    }

    /// Viewers have seen `bytes` more.
    pub(crate) fn seen(&mut self, bytes: usize) {
        self.shown += bytes;
    }

    /// What is left when the turn is over.
    pub(crate) fn end(mut self) -> Recorded {
        self.end_thought();
        self.flags.empty_answer = self.answer.trim().is_empty();
        Recorded {
            answer: self.answer,
            pending: self.pending,
            flags: self.flags,
            usage: self.usage,
            title: self.title,
            diagnostics: json!({ "rows_dropped": self.dropped, "updates_ignored": self.others }),
        }
    }
}

/// What a turn's updates came to.
pub(crate) struct Recorded {
    pub(crate) answer: String,
    pub(crate) pending: Vec<Entry>,
    pub(crate) flags: RunFlags,
    pub(crate) usage: Option<Value>,
    pub(crate) title: Option<String>,
    pub(crate) diagnostics: Value,
}

/// A tool's input or output, or how long it was if it is too long to keep.
fn bounded(value: Option<Value>) -> Value {
    let Some(value) = value else {
        return Value::Null;
    };
    let bytes = value.to_string().len();
    if bytes <= TOOL_BYTES {
        value
    } else {
        json!({ "omitted_bytes": bytes })
    }
}
