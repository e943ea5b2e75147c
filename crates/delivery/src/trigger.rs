//! The content of a trigger file, as a reader sees it.
//!
//! A file with a run ID only names the run. A file without one, which any program may write, requests a run of an
//! automation.

use std::str::FromStr;

use model::{RunId, Timestamp, artifact::ContentHash, limits, policy::SessionMode};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{
    MAX_MCP_SERVERS,
    untrusted_json::{self, MalformedContent, truncate},
};

/// The fields of a trigger file that this version reads.
const FIELDS: [&str; 9] = [
    "schedule",
    "scheduleName",
    "timestamp",
    "task",
    "type",
    "sessionMode",
    "params",
    "mcpServers",
    "runId",
];

/// The content of a trigger file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// The work that the file requests.
    pub request: TriggerRequest,
    /// The fields that this version does not know, because a later version or another program wrote the file.
    pub unknown_fields: Map<String, Value>,
}

/// The work that a trigger file requests.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerRequest {
    /// The turn of a run. The receiver reads everything else from the API, whatever the other fields say.
    Run(RunId),
    /// A run of an automation, which the receiver must request from the API.
    Automation(ForeignTrigger),
}

/// The content of a file without a run ID. Any program may have written it, so all texts in it are untrusted data.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignTrigger {
    /// The ID or the name of the automation.
    pub automation: String,
    /// The instant that the file names.
    pub timestamp: Option<Timestamp>,
    /// The text that the agent receives as data, beside the automation's own instruction.
    pub task: Option<String>,
    /// The source of the trigger.
    pub kind: Option<TriggerKind>,
    /// The session mode that the file names. The automation's own session mode applies.
    pub session_mode: Option<SessionMode>,
    /// The parameters that the agent receives as data.
    pub params: Map<String, Value>,
    /// The number of MCP servers in the file. The receiver never starts them.
    pub mcp_server_count: usize,
}

/// The source of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A schedule of an automation.
    Cron,
    /// A schedule of another program, by a recurrence rule.
    Rrule,
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
    /// The content names neither a run nor an automation.
    #[error(
        "invalid trigger: `runId`, `schedule` and `scheduleName` are all absent or empty: expected the ID of a run in \
         `runId`, the ID or the name of an automation in `schedule`, or its name in `scheduleName`"
    )]
    NoAutomation,
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

impl InvalidTrigger {
    /// `true` if the content is not JSON, so that it may be the first part of a file that a program still writes.
    pub fn may_be_incomplete(&self) -> bool {
        matches!(self, Self::Malformed(MalformedContent::NotJson(_)))
    }
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

    /// Removes the parameters. They are empty if the field is null or absent.
    fn params(&mut self) -> Result<Map<String, Value>, InvalidTrigger> {
        match self.0.remove("params") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(params)) => Ok(params),
            Some(other) => Err(invalid_field("params", &other, "expected an object")),
        }
    }

    /// Removes the MCP servers, which are a list, or an object with a field for each server. Returns their number.
    fn mcp_server_count(&mut self) -> Result<usize, InvalidTrigger> {
        let count = match self.0.remove("mcpServers") {
            None | Some(Value::Null) => 0,
            Some(Value::Array(servers)) => servers.len(),
            Some(Value::Object(servers)) => servers.len(),
            Some(other) => {
                let accepted = "expected a list or an object";
                return Err(invalid_field("mcpServers", &other, accepted));
            }
        };
        if count > MAX_MCP_SERVERS {
            let accepted = format!("expected at most {MAX_MCP_SERVERS} servers");
            return Err(invalid_field("mcpServers", &count.into(), accepted));
        }
        Ok(count)
    }
}

impl FromStr for TriggerKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "cron" => Ok(Self::Cron),
            "rrule" => Ok(Self::Rrule),
            "message" => Ok(Self::Message),
            "task" => Ok(Self::Task),
            _ => Err("expected cron, rrule, message or task"),
        }
    }
}

impl Trigger {
    /// Parses the content of a file. If it names a run, ignores all other fields.
    ///
    /// # Errors
    ///
    /// Returns an error if the content is not a trigger, or exceeds a limit.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidTrigger> {
        let Value::Object(fields) = untrusted_json::parse(bytes)? else {
            return Err(InvalidTrigger::NotAnObject);
        };
        let mut fields = Fields(fields);
        let request = match fields.parsed_text("runId")? {
            Some(run) => TriggerRequest::Run(run),
            None => TriggerRequest::Automation(ForeignTrigger::read(&mut fields)?),
        };
        let mut unknown_fields = fields.0;
        unknown_fields.retain(|name, _| !FIELDS.contains(&name.as_str()));
        Ok(Self {
            request,
            unknown_fields,
        })
    }

    /// Returns the idempotency key with which a receiver requests the run of a foreign file, so that it gets the same
    /// run if it asks twice. `file_name` is the last part of the file's path.
    ///
    /// A program that drops the same content again must choose another name, or change the content, for example by a
    /// timestamp.
    pub fn idempotency_key(file_name: &[u8], content: &[u8]) -> String {
        // The name of a file contains no NUL, so that no other name and content have the same input.
        let digest = Sha256::new()
            .chain_update(file_name)
            .chain_update([0])
            .chain_update(Sha256::digest(content))
            .finalize();
        format!("trigger-file-{}", ContentHash::new(digest.into()))
    }
}

impl ForeignTrigger {
    fn read(fields: &mut Fields) -> Result<Self, InvalidTrigger> {
        let schedule = fields.text("schedule", limits::NAME_BYTES)?;
        let schedule_name = fields.text("scheduleName", limits::NAME_BYTES)?;
        let mut names = [schedule, schedule_name].into_iter().flatten();
        let automation = names.find(|name| !name.trim().is_empty());
        Ok(Self {
            automation: automation.ok_or(InvalidTrigger::NoAutomation)?,
            timestamp: fields.parsed_text("timestamp")?,
            task: fields.text("task", limits::CONTENT_BYTES)?,
            kind: fields.parsed_text("type")?,
            session_mode: fields.parsed_text("sessionMode")?,
            params: fields.params()?,
            mcp_server_count: fields.mcp_server_count()?,
        })
    }
}
