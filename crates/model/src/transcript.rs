//! What people read in a transcript: the event of a scheduled turn and the visible end of each.

use serde_json::{Map, Value, json};

use crate::{
    ids::{AutomationId, RunId},
    limits,
    outcome::{FailureKind, Outcome, StopReason},
    prompt::{PromptRef, fenced},
    turn::{EntryKind, Role},
};

/// The automation that a turn belongs to, as its messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The automation.
    pub automation_id: AutomationId,
    /// Its name when the turn began.
    pub automation_name: String,
}

/// The readable text of a scheduled turn; never the internal prompt.
pub fn automation_text(name: &str, content: &str) -> String {
    format!("Scheduled automation triggered: {name}\n\n{content}")
}

/// The readable text of a turn that a webhook started. What came with it was written by someone
/// outside, and looks like it.
pub fn webhook_text(name: &str, content: &str, payload: &str) -> String {
    let payload = fenced(payload);
    format!("Automation triggered by a webhook: {name}\n\n{content}\n\n{payload}")
}

/// The metadata of the messages of an automation's turn; empty for a person's.
pub fn metadata(source: Option<&Source>, run: RunId, prompt: Option<&PromptRef>) -> Value {
    let mut metadata = Map::new();
    if let Some(source) = source {
        metadata.insert("_automation_turn".into(), true.into());
        metadata.insert(
            "automation_id".into(),
            source.automation_id.to_string().into(),
        );
        metadata.insert(
            "automation_name".into(),
            source.automation_name.clone().into(),
        );
        metadata.insert("automation_run_id".into(), run.to_string().into());
        if let Some(prompt) = prompt {
            metadata.insert("automation_prompt_ref".into(), json!(prompt));
        }
    }
    Value::Object(metadata)
}

/// Whether a message belongs to an automation's turn. Both names of the mark are read; only
/// `_automation_turn` is written.
pub fn is_automation_turn(metadata: &Value) -> bool {
    ["_automation_turn", "_automation_trigger"]
        .iter()
        .any(|mark| {
            metadata
                .get(mark)
                .is_some_and(|value| *value != Value::Bool(false) && !value.is_null())
        })
}

/// Who speaks in a row of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A person.
    Person,
    /// A scheduled turn.
    Schedule,
    /// The agent's answer.
    Agent,
    /// The agent's thoughts and plans.
    Aside,
    /// A tool of the agent's.
    Tool,
    /// Matins itself.
    Matins,
}

impl Speaker {
    /// Returns the speaker of a row with this role, kind and metadata.
    pub fn of(role: Role, kind: EntryKind, metadata: &Value) -> Self {
        match (role, kind) {
            (Role::User, _) if is_automation_turn(metadata) => Self::Schedule,
            (Role::User, _) => Self::Person,
            (Role::Assistant, EntryKind::Message) => Self::Agent,
            (Role::Assistant, _) => Self::Aside,
            (Role::Tool, _) => Self::Tool,
            (Role::System, _) => Self::Matins,
        }
    }
}

/// How much of an answer a transcript holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// There is none.
    None,
    /// All of it.
    Whole,
    /// Its beginning: it was longer than is kept.
    Cut,
}

/// The notice with which a turn visibly ends, beside the answer if there is one; `None` where the
/// answer itself is the end.
pub fn closure(outcome: &Outcome, answer: Answer) -> Option<String> {
    let cut = || {
        let megabytes = limits::ANSWER_BYTES >> 20;
        format!("The answer was longer than {megabytes} MiB; the rest of it was not kept.")
    };
    let end = end(outcome, answer);
    match (answer, end) {
        (Answer::Cut, Some(end)) => Some(format!("{end} {}", cut())),
        (Answer::Cut, None) => Some(cut()),
        (_, end) => end,
    }
}

fn end(outcome: &Outcome, answer: Answer) -> Option<String> {
    let text = match outcome {
        Outcome::Stopped(StopReason::EndTurn) if answer != Answer::None => return None,
        Outcome::Stopped(StopReason::EndTurn) => "The agent ended its turn with no answer.".into(),
        Outcome::Stopped(StopReason::MaxTokens) => {
            "The turn failed: the model's limit of tokens was reached.".into()
        }
        Outcome::Stopped(StopReason::MaxTurnRequests) => {
            "The turn failed: the limit of requests in one turn was reached.".into()
        }
        Outcome::Stopped(StopReason::Refusal) => "The turn failed: the agent refused.".into(),
        Outcome::Stopped(StopReason::Cancelled) => {
            "The turn failed: the agent ended it as cancelled, and nobody had called it off.".into()
        }
        Outcome::Cancelled(reason) => format!("The turn was cancelled: {reason}."),
        Outcome::Failed(failure) => match failure.kind {
            FailureKind::HandedBack => format!(
                "The turn was interrupted: {} and handed it back.",
                failure.message
            ),
            FailureKind::WorkerLost => {
                "The turn was interrupted: the worker that executed it was lost.".into()
            }
            _ => format!(
                "The turn failed: {}.",
                failure.message.trim_end_matches('.')
            ),
        },
    };
    Some(text)
}
