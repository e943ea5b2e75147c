//! What an agent tells during a turn, made into rows of the transcript.

use std::{collections::HashMap, io, sync::Arc};

use agent::{Decision, PlanEntry, ToolCall, Update};
use model::{
    Clock, Entropy, MessageId,
    budget::{Meter, Reading, Spent},
    entity::Seat,
    limits,
    run::RunFlags,
    turn::{Entry, EntryKind, Role},
};
use serde_json::{Value, json};

/// The longest input or output of a tool call that the transcript keeps, in bytes of JSON.
const TOOL_BYTES: usize = 64 * 1024;

/// The longest id, kind or status of a tool call that is kept, in bytes.
const ID_BYTES: usize = 256;

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
    plan: Option<Entry>,
    /// What the rows hold beside their short fields, in bytes.
    kept: usize,
    /// Rows that are not written yet. A row that changed before it was written is there once.
    pending: Vec<Entry>,
    rows: usize,
    dropped: usize,
    flags: RunFlags,
    usage: Option<Value>,
    meter: Meter,
    title: Option<String>,
    /// Updates of kinds that the transcript has no place for.
    others: usize,
}

impl Recorder {
    /// A recorder of a seat's next turn. A seat without a memory begins another session, with nothing
    /// used; of one with a memory it matters what was reported.
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>, seat: &Seat) -> Self {
        let meter = match &seat.acp_session_id {
            Some(_) => Meter::resumed(seat.usage.as_ref().and_then(Reading::of)),
            None => Meter::default(),
        };
        Self {
            clock,
            entropy,
            answer: String::new(),
            shown: 0,
            parted: false,
            thought: String::new(),
            tool_calls: HashMap::new(),
            plan: None,
            kept: 0,
            pending: Vec::new(),
            rows: 0,
            dropped: 0,
            flags: RunFlags::default(),
            usage: None,
            meter,
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
                let room = limits::CONTENT_BYTES.saturating_sub(self.thought.len());
                self.thought.push_str(head(&text, room));
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
            Update::Plan(steps) => self.plan(&steps),
            Update::Usage(usage) => {
                let cost = usage
                    .cost
                    .map(|cost| json!({ "amount": cost.amount, "currency": cost.currency }));
                let mut usage = json!({ "used": usage.used, "size": usage.size, "cost": cost });
                if let Some(reading) = Reading::of(&usage) {
                    self.meter.read(&reading);
                }
                usage["costs"] = json!(self.meter.costs());
                usage["spent"] = json!(self.meter.spent());
                self.usage = Some(usage);
            }
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
                let title = head(&request.about.title, limits::TITLE_BYTES);
                let content = format!("Permission {decided}: {title}");
                let metadata = json!({
                    "tool_call_id": head(&request.tool_call, ID_BYTES),
                    "tool_kind": head(&request.about.tool_kind, ID_BYTES),
                    "decision": decided,
                });
                let id = self.new_id();
                self.parted = true;
                self.add(Entry {
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
        if self.kept + content.len() > limits::TURN_BYTES {
            self.dropped += 1;
            return;
        }
        self.kept += content.len();
        let id = self.new_id();
        let kind = EntryKind::Thought;
        self.add(Entry {
            id,
            role: Role::Assistant,
            kind,
            content,
            metadata: json!({}),
        });
    }

    fn plan(&mut self, steps: &[PlanEntry]) {
        let shown = steps
            .iter()
            .map(|step| format!("[{}] {}", step.status, step.content));
        let content = shown.collect::<Vec<_>>().join("\n");
        let content = head(&content, TOOL_BYTES).to_owned();
        let steps = steps.iter().map(
            |step| json!({ "content": step.content, "priority": step.priority, "status": step.status }),
        );
        let steps = Some(steps.collect());
        let before = self.plan.take();
        let old = before.as_ref().map(|entry| &entry.metadata["entries"]);
        let metadata = json!({ "entries": self.bounded(steps, old) });
        let entry = Entry {
            id: before
                .as_ref()
                .map_or_else(|| self.new_id(), |entry| entry.id),
            role: Role::Assistant,
            kind: EntryKind::Plan,
            content,
            metadata,
        };
        self.plan = Some(entry.clone());
        if before.is_some() {
            self.change(entry);
        } else {
            self.add(entry);
        }
    }

    fn tool_call(&mut self, mut call: ToolCall) {
        self.flags.tool_calls += 1;
        self.parted = true;
        call.id.truncate(call.id.floor_char_boundary(ID_BYTES));
        let metadata = json!({
            "tool_call_id": call.id,
            "tool_kind": head(&call.kind, ID_BYTES),
            "status": head(&call.status, ID_BYTES),
            "input": self.bounded(call.input, None),
            "output": self.bounded(call.output, None),
        });
        let id = self.new_id();
        let entry = Entry {
            id,
            role: Role::Tool,
            kind: EntryKind::ToolCall,
            content: head(&call.title, limits::TITLE_BYTES).to_owned(),
            metadata,
        };
        if self.tool_calls.len() < limits::UPDATES_PER_TURN {
            self.tool_calls.insert(call.id, entry.clone());
        }
        self.add(entry);
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
        let Some(mut entry) = self.tool_calls.remove(head(&id, ID_BYTES)) else {
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
            head(&title, limits::TITLE_BYTES).clone_into(&mut entry.content);
        }
        for (name, value) in [("tool_kind", kind), ("status", status)] {
            if let Some(value) = value {
                entry.metadata[name] = head(&value, ID_BYTES).into();
            }
        }
        for (name, value) in [("input", input), ("output", output)] {
            if value.is_some() {
                entry.metadata[name] = self.bounded(value, Some(&entry.metadata[name]));
            }
        }
        self.parted = true;
        self.tool_calls
            .insert(head(&id, ID_BYTES).to_owned(), entry.clone());
        self.change(entry);
    }

    /// A tool's input or output in place of an `old` one, or how long it is if there is no room for it.
    fn bounded(&mut self, value: Option<Value>, old: Option<&Value>) -> Value {
        self.kept = self.kept.saturating_sub(old.map_or(0, length));
        let Some(value) = value else {
            return Value::Null;
        };
        let bytes = length(&value);
        let fits = bytes <= TOOL_BYTES && self.kept + bytes <= limits::TURN_BYTES;
        let kept = if fits {
            value
        } else {
            json!({ "omitted_bytes": bytes })
        };
        self.kept += length(&kept);
        kept
    }

    fn new_id(&self) -> MessageId {
        MessageId::generate(self.clock.now(), &*self.entropy)
    }

    /// Writes a row that was there before. What changed last is at the end, as a rule.
    fn change(&mut self, entry: Entry) {
        let mut waiting = self.pending.iter_mut().rev();
        match waiting.find(|waiting| waiting.id == entry.id) {
            Some(waiting) => *waiting = entry,
            None => self.add(entry),
        }
    }

    fn add(&mut self, entry: Entry) {
        if self.rows < limits::UPDATES_PER_TURN {
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

    /// What the agent last reported, with what the turn has used so far.
    pub(crate) fn usage(&self) -> Option<&Value> {
        self.usage.as_ref()
    }

    /// What the turn has used so far.
    pub(crate) fn spent(&self) -> &Spent {
        self.meter.spent()
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

/// The beginning of a text.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The length of a value as JSON, in bytes.
fn length(value: &Value) -> usize {
    struct Counted(usize);
    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    serde_json::to_writer(&mut counted, value).ok();
    counted.0
}
