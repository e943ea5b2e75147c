//! The texts that people read in a transcript: the first row of an automation's turn, and the visible end of each
//! turn.

use serde_json::{Map, Value, json};

use crate::{
    caller_name::display_name,
    ids::{AutomationId, RunId},
    limits,
    outcome::{FailureKind, Outcome, StopReason},
    prompt::{PromptRef, fenced},
    turn::{EntryKind, Role},
};

/// The name of the seat that receives a row, in its metadata.
const TO_NAME: &str = "_to_name";
/// The key of the task whose prompt a row is, in its metadata.
const TASK_KEY: &str = "_task_key";

/// The automation of a turn, as the metadata of its rows names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomationSource {
    /// The ID of the automation.
    pub automation_id: AutomationId,
    /// The name of the automation when the turn began.
    pub automation_name: String,
}

/// Returns the text of a scheduled turn. People see it instead of the rendered prompt.
pub fn automation_text(name: &str, content: &str) -> String {
    format!("Scheduled automation triggered: {name}\n\n{content}")
}

/// Returns the text of a turn that a webhook started. The payload is fenced, because its author is outside of the
/// tenant.
pub fn webhook_text(name: &str, content: &str, payload: &str) -> String {
    let payload = fenced(payload);
    format!("Automation triggered by a webhook: {name}\n\n{content}\n\n{payload}")
}

/// Returns the text of a turn that a trigger file of another program started. The data of the file is fenced, because
/// any program may have written it.
pub fn trigger_file_text(name: &str, content: &str, payload: &str) -> String {
    let payload = fenced(payload);
    format!("Automation triggered by a file: {name}\n\n{content}\n\n{payload}")
}

/// Returns the text of a turn that carries messages to a seat, by their numbers in the transcript.
pub fn carried_messages_text(attempt: i64, messages: &[i64]) -> String {
    let count = match messages {
        [_] => "1 message".to_owned(),
        messages => format!("{} messages", messages.len()),
    };
    let numbers: Vec<String> = messages.iter().map(|number| format!("#{number}")).collect();
    let begin = match attempt {
        1 => "A turn begins".to_owned(),
        attempt => format!("Attempt {attempt} begins"),
    };
    format!("{begin} with {count} to its seat: {}.", numbers.join(", "))
}

/// Returns the metadata of the rows of an automation's turn. Returns an empty object for the turn of a person's
/// message.
pub fn metadata(
    source: Option<&AutomationSource>,
    run: RunId,
    prompt: Option<&PromptRef>,
) -> Value {
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

/// Returns `true` if a row belongs to an automation's turn. Accepts two names of the mark, of which only
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

/// Returns the names of the sender and of the receiving seat of a message to a seat, as texts show them. Returns `None`
/// for every other row.
pub fn seat_message_names(metadata: &Value) -> Option<(&str, &str)> {
    let name = |key: &str| metadata.get(key)?.as_str();
    let from = name("_from_name").or_else(|| name("_from_person").map(display_name))?;
    Some((from, name(TO_NAME)?))
}

/// Returns the metadata of the prompt of a goal's task with the name of its seat and the key of the task added. The
/// names are never stored: readers of a transcript add them.
pub fn with_task(mut metadata: Value, seat: &str, task: &str) -> Value {
    if let Some(fields) = metadata.as_object_mut() {
        fields.insert(TO_NAME.into(), seat.into());
        fields.insert(TASK_KEY.into(), task.into());
    }
    metadata
}

/// Returns the name of the seat and the key of the task whose prompt a row is. Returns `None` for every other row.
pub fn task_prompt_names(metadata: &Value) -> Option<(&str, &str)> {
    let name = |key: &str| metadata.get(key)?.as_str();
    Some((name(TO_NAME)?, name(TASK_KEY)?))
}

/// The speaker of a row of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A person.
    Person,
    /// A scheduled turn.
    Schedule,
    /// Matins, to a seat of a goal about a task: [`task_prompt_names`] has the names.
    Task,
    /// The agent, with an answer.
    Agent,
    /// The agent, with a thought, a plan, a notice or a compaction.
    AgentThought,
    /// A tool of the agent.
    Tool,
    /// An agent or a person, to a seat of the session: [`seat_message_names`] has the names.
    Seat,
    /// Matins itself.
    Matins,
}

impl Speaker {
    /// Returns the speaker of a row with this role, kind and metadata.
    pub fn of(role: Role, kind: EntryKind, metadata: &Value) -> Self {
        match (role, kind) {
            (_, EntryKind::Message) if seat_message_names(metadata).is_some() => Self::Seat,
            (Role::User, _) if is_automation_turn(metadata) => Self::Schedule,
            (Role::User, _) if task_prompt_names(metadata).is_some() => Self::Task,
            (Role::User, _) => Self::Person,
            (Role::Assistant, EntryKind::Message) => Self::Agent,
            (Role::Assistant, _) => Self::AgentThought,
            (Role::Tool, _) => Self::Tool,
            (Role::System, _) => Self::Matins,
        }
    }
}

/// The extent to which a transcript has the answer of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerExtent {
    /// The turn has no answer.
    None,
    /// The transcript has the whole answer.
    Whole,
    /// The transcript has the beginning of an answer that was longer than [`limits::ANSWER_BYTES`].
    Cut,
}

/// Returns the notice that ends a turn in the transcript. Returns `None` if the answer itself is a sufficient end.
pub fn closing_notice(outcome: &Outcome, answer: AnswerExtent) -> Option<String> {
    let cut = || {
        let megabytes = limits::ANSWER_BYTES >> 20;
        format!("The answer was longer than {megabytes} MiB; the rest was not kept.")
    };
    let end = end_text(outcome, answer);
    match (answer, end) {
        (AnswerExtent::Cut, Some(end)) => Some(format!("{end} {}", cut())),
        (AnswerExtent::Cut, None) => Some(cut()),
        (_, end) => end,
    }
}

fn end_text(outcome: &Outcome, answer: AnswerExtent) -> Option<String> {
    let text = match outcome {
        Outcome::Stopped(StopReason::EndTurn) if answer != AnswerExtent::None => return None,
        Outcome::Stopped(StopReason::EndTurn) => "The agent ended its turn with no answer.".into(),
        Outcome::Stopped(StopReason::MaxTokens) => {
            "The turn failed: the model's limit of tokens was reached.".into()
        }
        Outcome::Stopped(StopReason::MaxTurnRequests) => {
            "The turn failed: the limit of requests in one turn was reached.".into()
        }
        Outcome::Stopped(StopReason::Refusal) => "The turn failed: the agent refused.".into(),
        Outcome::Stopped(StopReason::Cancelled) => {
            "The turn failed: the agent ended it as cancelled without a request to cancel it."
                .into()
        }
        Outcome::Cancelled(reason) => format!("The turn was cancelled: {reason}."),
        Outcome::Failed(failure) => match failure.kind {
            FailureKind::Requeued => format!(
                "The turn was interrupted: {}, and the input was requeued.",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaker_of_prompt_of_task_is_matins() {
        let of = |metadata: &Value| Speaker::of(Role::User, EntryKind::Message, metadata);
        let prompt = with_task(json!({}), "worker-1", "tone");
        assert_eq!(of(&prompt), Speaker::Task);
        assert_eq!(task_prompt_names(&prompt), Some(("worker-1", "tone")));
        assert_eq!(seat_message_names(&prompt), None);
        assert_eq!(of(&json!({})), Speaker::Person);
        let message = json!({ "_from_person": "Anna", "_to_name": "worker-1" });
        assert_eq!(of(&message), Speaker::Seat);
        assert_eq!(task_prompt_names(&message), None);
        let from = |name: &str| json!({ "_from_person": name, "_to_name": "judge" });
        assert_eq!(seat_message_names(&from("Anna")), Some(("Anna", "judge")));
        let at_server = Some(("a person at the server", "judge"));
        assert_eq!(seat_message_names(&from("socket")), at_server);
        assert_eq!(with_task(Value::Null, "worker-1", "tone"), Value::Null);
    }
}
