//! The answers of tools: one object, also as text, with `ok` and, for an error, its kind, a message and advice.

use model::{
    goal::TaskRole, lifecycle::Lifecycle as _, session::SessionStatus, tools::CALLS_PER_TURN,
};
use rmcp::model::CallToolResult;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use service::{Error, ErrorKind};

/// The answer of a tool, beside the fields that every answer has.
pub(crate) type Answer = Result<Map<String, Value>, ToolError>;

/// The reason why a tool did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError {
    /// The kind, one word, by which an agent can decide.
    pub(crate) error: &'static str,
    /// The message.
    pub(crate) message: String,
    /// The next step of the agent.
    pub(crate) advice: String,
}

impl ToolError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            error: "invalid",
            message: message.into(),
            advice: "correct the input, and call the tool again".into(),
        }
    }

    pub(crate) fn unknown(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            error: "unknown",
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// Returns the refusal of a call beyond the limit of a turn. `task` is the part of the agent in the task of the turn.
    pub(crate) fn too_many_calls(task: Option<TaskRole>) -> Self {
        let advice = match task {
            Some(TaskRole::Worker) => "call `update_task`, then end your turn",
            Some(TaskRole::Judge) => "call `judge_task`, then end your turn",
            Some(TaskRole::Planner | TaskRole::Reporter) | None => "end your turn",
        };
        Self {
            error: "limit",
            message: format!("a turn has at most {CALLS_PER_TURN} calls of tools"),
            advice: advice.into(),
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let (kind, advice) = match &error {
            Error::Store(store::Error::RunOver { .. }) => ("closed", "end your turn"),
            Error::Store(store::Error::LimitReached { .. }) => {
                ("limit", "remove old ones, or ask a person in your answer")
            }
            Error::Store(store::Error::SeatFull { .. }) => (
                "full",
                "send to the other seats by their names, and tell a person in your answer",
            ),
            Error::Store(store::Error::MessageLimit { .. }) => (
                "limit",
                "send no more messages; report what the others need in your result",
            ),
            Error::Store(store::Error::OtherContent { .. }) => (
                "conflict",
                "choose another name, or remove the present one first",
            ),
            Error::Content(artifacts::Error::Changed { .. }) => {
                ("conflict", "call the tool again once the file is complete")
            }
            Error::Content(artifacts::Error::Exists { .. }) => {
                ("conflict", "choose another `path`")
            }
            Error::NotAllowed { .. } => (
                "not_allowed",
                "propose the change to a person in your answer",
            ),
            // A closed session takes nothing more from its agents.
            Error::Refused(refused) if refused.what == SessionStatus::WHAT => {
                ("closed", "end your turn")
            }
            Error::Store(error) if error.is_transient() => ("unavailable", "repeat the call"),
            error => match error.kind() {
                ErrorKind::Invalid => ("invalid", "correct the input, and call the tool again"),
                ErrorKind::NotFound => ("unknown", "list the present ones"),
                ErrorKind::Refused => ("conflict", "read the present state"),
                ErrorKind::Agent | ErrorKind::Database | ErrorKind::Files => {
                    ("unavailable", "repeat the call later")
                }
            },
        };
        // Only the errors of the database and the data folder are not for agents: they name hosts, paths and statements.
        let message = match error.kind() {
            kind @ (ErrorKind::Database | ErrorKind::Files) => {
                tracing::error!(error = %error.chain(), "a tool failed");
                match kind {
                    ErrorKind::Files => "Matins cannot use its data folder".to_owned(),
                    _ => "Matins cannot use its database".to_owned(),
                }
            }
            _ => error.chain(),
        };
        Self {
            error: kind,
            message,
            advice: advice.to_owned(),
        }
    }
}

/// Returns the fields of a JSON object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Reads the input of a tool.
///
/// # Errors
///
/// Returns an error that names the field at fault. A text with U+0000 is refused, because PostgreSQL stores none.
pub(crate) fn read<T: DeserializeOwned>(input: Map<String, Value>) -> Result<T, ToolError> {
    if let Some((field, _)) = input.iter().find(|(_, value)| has_nul(value)) {
        let message = format!(
            "invalid `{}`: it contains the character U+0000",
            field.escape_debug()
        );
        return Err(ToolError::invalid(message));
    }
    serde_path_to_error::deserialize(Value::Object(input)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        ToolError::invalid(if path == "." {
            format!("invalid input: {problem}")
        } else {
            format!("invalid `{path}`: {problem}")
        })
    })
}

/// Returns `true` if a text in a value contains U+0000. The values of agents are parsed, so that their depth is limited.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(field, value)| field.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the result of a call, in the protocol's form. `unread` is the number of messages that wait for the agent, if its
/// session has several seats.
pub(crate) fn result(answer: Answer, unread: Option<i64>, calls_left: u32) -> CallToolResult {
    match answer {
        Ok(fields) => {
            let mut object = Map::new();
            object.insert("ok".into(), true.into());
            object.extend(unread.map(|unread| ("unread".to_owned(), unread.into())));
            object.extend(fields);
            object.insert("calls_left".into(), calls_left.into());
            CallToolResult::structured(Value::Object(object))
        }
        Err(ToolError {
            error,
            message,
            advice,
        }) => {
            let mut object = object(json!({
                "ok": false,
                "error": error,
                "message": message,
                "advice": advice,
                "calls_left": calls_left,
            }));
            object.extend(unread.map(|unread| ("unread".to_owned(), unread.into())));
            CallToolResult::structured_error(Value::Object(object))
        }
    }
}

#[cfg(test)]
mod tests {
    use model::lifecycle::InvalidTransition;

    use super::*;

    #[test]
    fn call_in_closed_session_is_closed() {
        let kind_of = |what| {
            let refused = InvalidTransition {
                what,
                object: None,
                state: "failed".into(),
                event: "take an artifact".into(),
            };
            ToolError::from(Error::Refused(refused)).error
        };
        assert_eq!(kind_of(SessionStatus::WHAT), "closed");
        assert_eq!(kind_of("task"), "conflict");
    }
}
