//! The content of a trigger file.

use std::str::FromStr;

use model::{RunId, Timestamp, limits, policy::SessionMode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    MAX_MCP_SERVERS,
    untrusted_json::{self, MalformedContent, truncate},
};

/// The content of a trigger file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The ID of the automation. `None` for a person's message and for a task.
    pub schedule: Option<String>,
    /// The name of the automation.
    pub schedule_name: Option<String>,
    /// The due instant, or the instant of the message.
    pub timestamp: Timestamp,
    /// The instruction for the agent.
    pub task: String,
    /// The source of the trigger.
    #[serde(rename = "type")]
    pub kind: TriggerKind,
    /// The session mode, which determines the session of the turn.
    pub session_mode: SessionMode,
    /// Additional parameters for the prompt.
    pub params: Map<String, Value>,
    /// The MCP servers for the agent. The receiver must ignore them if `run_id` is present.
    pub mcp_servers: Vec<Value>,
    /// The run that the file delivers. If present, the receiver must read everything else from the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// The source of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A schedule of an automation.
    Cron,
    /// A message of a person.
    Message,
    /// A task of a goal.
    Task,
}

/// The reason why a content is not a trigger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTrigger {
    /// The content cannot be parsed.
    #[error("invalid trigger: {0}")]
    Malformed(#[from] MalformedContent),
    /// The content is not an object.
    #[error("invalid trigger: expected an object")]
    NotAnObject,
    /// A required field is missing.
    #[error("invalid trigger: the field `{0}` is missing")]
    MissingField(&'static str),
    /// A field has an unknown name.
    #[error("invalid trigger: unknown field `{}`", .0.escape_debug())]
    UnknownField(String),
    /// A field has a value that is not accepted.
    #[error("invalid trigger: `{field}` is `{given}`: {accepted}")]
    InvalidField {
        /// The name of the field.
        field: &'static str,
        /// The value, or its beginning.
        given: String,
        /// The accepted values.
        accepted: String,
    },
}

/// The remaining fields of a document. Each method removes the field that it reads, so that only unknown fields
/// remain.
struct Fields(Map<String, Value>);

fn invalid_field(
    field: &'static str,
    given: &Value,
    accepted: impl Into<String>,
) -> InvalidTrigger {
    InvalidTrigger::InvalidField {
        field,
        given: truncate(&given.to_string()),
        accepted: accepted.into(),
    }
}

impl Fields {
    /// Removes a text of at most `bytes` bytes. Returns `None` if the field is null or absent.
    fn text(
        &mut self,
        field: &'static str,
        bytes: usize,
    ) -> Result<Option<String>, InvalidTrigger> {
        match self.0.remove(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= bytes => Ok(Some(text)),
            Some(Value::String(text)) => {
                let accepted = format!("expected at most {bytes} bytes");
                Err(invalid_field(
                    field,
                    &Value::String(truncate(&text)),
                    accepted,
                ))
            }
            Some(other) => Err(invalid_field(field, &other, "expected a string")),
        }
    }

    fn required_text(
        &mut self,
        field: &'static str,
        bytes: usize,
    ) -> Result<String, InvalidTrigger> {
        let text = self.text(field, bytes)?;
        text.ok_or(InvalidTrigger::MissingField(field))
    }

    /// Removes a text and parses it. Returns `None` if the field is null or absent.
    fn parsed_text<T: FromStr<Err: std::fmt::Display>>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, InvalidTrigger> {
        let Some(text) = self.text(field, limits::NAME_BYTES)? else {
            return Ok(None);
        };
        let value = text.parse().map_err(|error: T::Err| {
            invalid_field(field, &Value::String(text), truncate(&error.to_string()))
        });
        value.map(Some)
    }
}

impl FromStr for TriggerKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "cron" => Ok(Self::Cron),
            "message" => Ok(Self::Message),
            "task" => Ok(Self::Task),
            _ => Err("expected cron, message or task"),
        }
    }
}

impl Trigger {
    /// Parses the content of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the content is not a trigger, or exceeds a limit.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidTrigger> {
        let Value::Object(fields) = untrusted_json::parse(bytes)? else {
            return Err(InvalidTrigger::NotAnObject);
        };
        let mut fields = Fields(fields);
        let schedule = fields.text("schedule", limits::NAME_BYTES)?;
        let schedule_name = fields.text("scheduleName", limits::NAME_BYTES)?;
        let timestamp = fields.parsed_text("timestamp")?;
        let task = fields.required_text("task", limits::CONTENT_BYTES)?;
        let kind = fields.parsed_text("type")?;
        let session_mode = fields.parsed_text("sessionMode")?;
        let params = match fields.0.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(other) => return Err(invalid_field("params", &other, "expected an object")),
        };
        let mcp_servers = mcp_servers(fields.0.remove("mcpServers"))?;
        let run_id = fields.parsed_text("runId")?;
        // Every known field is removed by now. A misspelled field must be refused and not ignored.
        if let Some(unknown) = fields.0.keys().next() {
            return Err(InvalidTrigger::UnknownField(truncate(unknown)));
        }
        let kind = kind.ok_or(InvalidTrigger::MissingField("type"))?;
        if (kind == TriggerKind::Cron) != schedule.is_some() {
            let accepted = "expected an ID if the type is cron, and null for all other types";
            return Err(invalid_field("schedule", &schedule.into(), accepted));
        }
        Ok(Self {
            schedule,
            schedule_name,
            timestamp: timestamp.ok_or(InvalidTrigger::MissingField("timestamp"))?,
            task,
            kind,
            session_mode: session_mode.ok_or(InvalidTrigger::MissingField("sessionMode"))?,
            params,
            mcp_servers,
            run_id,
        })
    }

    /// Formats the content of a file, with a line feed at the end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }
}

fn mcp_servers(given: Option<Value>) -> Result<Vec<Value>, InvalidTrigger> {
    let servers = match given {
        None => return Ok(Vec::new()),
        Some(Value::Array(servers)) => servers,
        Some(other) => return Err(invalid_field("mcpServers", &other, "expected a list")),
    };
    if servers.len() > MAX_MCP_SERVERS {
        let accepted = format!("expected at most {MAX_MCP_SERVERS} servers");
        return Err(invalid_field("mcpServers", &servers.len().into(), accepted));
    }
    match servers.iter().find(|server| !server.is_object()) {
        Some(other) => Err(invalid_field(
            "mcpServers",
            other,
            "expected a list of objects",
        )),
        None => Ok(servers),
    }
}
