//! The content of a trigger file.

use std::str::FromStr;

use model::{RunId, Timestamp, limits, policy::SessionMode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    MCP_SERVERS,
    strict::{self, Malformed, shown},
};

/// What a trigger file asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The id of the automation; none for a person's words and for tasks.
    pub schedule: Option<String>,
    /// The automation's name.
    pub schedule_name: Option<String>,
    /// When it was due, or said.
    pub timestamp: Timestamp,
    /// What the agent is to do.
    pub task: String,
    /// What made it.
    #[serde(rename = "type")]
    pub kind: TriggerKind,
    /// Where the turn goes.
    pub session_mode: SessionMode,
    /// More for the prompt.
    pub params: Map<String, Value>,
    /// MCP servers for the agent; believed only where there is no `runId`.
    pub mcp_servers: Vec<Value>,
    /// The run that it delivers. Where there is one, everything else comes from the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// What made a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A schedule.
    Cron,
    /// A person's words.
    Message,
    /// A task of a goal.
    Task,
}

/// Why a content is no trigger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTrigger {
    /// It cannot be read at all.
    #[error("read the trigger: {0}")]
    Malformed(#[from] Malformed),
    /// It is no object.
    #[error("read the trigger: expected an object")]
    NoObject,
    /// A field that is needed is not there.
    #[error("read the trigger: the field {0:?} is missing")]
    Missing(&'static str),
    /// A field that nobody knows.
    #[error("read the trigger: nobody knows the field {0:?}")]
    Unknown(String),
    /// A field has a value that is not accepted.
    #[error("read the trigger: {field} is {given}: {accepted}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value, or the beginning of it.
        given: String,
        /// What is accepted.
        accepted: String,
    },
}

/// Takes the fields of a document one by one.
struct Fields(Map<String, Value>);

fn wrong(field: &'static str, given: &Value, accepted: impl Into<String>) -> InvalidTrigger {
    InvalidTrigger::Field {
        field,
        given: shown(&given.to_string()),
        accepted: accepted.into(),
    }
}

impl Fields {
    /// A text of at most `bytes`; `None` where it is null or not there.
    fn text(
        &mut self,
        field: &'static str,
        bytes: usize,
    ) -> Result<Option<String>, InvalidTrigger> {
        match self.0.remove(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= bytes => Ok(Some(text)),
            Some(Value::String(text)) => {
                let accepted = format!("at most {bytes} bytes are accepted");
                Err(wrong(field, &Value::String(shown(&text)), accepted))
            }
            Some(other) => Err(wrong(field, &other, "a text is accepted")),
        }
    }

    fn needed(&mut self, field: &'static str, bytes: usize) -> Result<String, InvalidTrigger> {
        let text = self.text(field, bytes)?;
        text.ok_or(InvalidTrigger::Missing(field))
    }

    /// A text that is read further, in words that the type itself has.
    fn parsed<T: FromStr<Err: std::fmt::Display>>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, InvalidTrigger> {
        let Some(text) = self.text(field, limits::NAME_BYTES)? else {
            return Ok(None);
        };
        let value = text
            .parse()
            .map_err(|error: T::Err| wrong(field, &Value::String(text), shown(&error.to_string())));
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
            _ => Err("cron, message or task is accepted"),
        }
    }
}

impl Trigger {
    /// Reads a file's content.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidTrigger> {
        let Value::Object(fields) = strict::read(bytes)? else {
            return Err(InvalidTrigger::NoObject);
        };
        let mut fields = Fields(fields);
        let schedule = fields.text("schedule", limits::NAME_BYTES)?;
        let schedule_name = fields.text("scheduleName", limits::NAME_BYTES)?;
        let timestamp = fields.parsed("timestamp")?;
        let task = fields.needed("task", limits::CONTENT_BYTES)?;
        let kind = fields.parsed("type")?;
        let session_mode = fields.parsed("sessionMode")?;
        let params = match fields.0.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(other) => return Err(wrong("params", &other, "an object is accepted")),
        };
        let mcp_servers = mcp_servers(fields.0.remove("mcpServers"))?;
        let run_id = fields.parsed("runId")?;
        if let Some(unknown) = fields.0.keys().next() {
            return Err(InvalidTrigger::Unknown(shown(unknown)));
        }
        let kind = kind.ok_or(InvalidTrigger::Missing("type"))?;
        if (kind == TriggerKind::Cron) != schedule.is_some() {
            let accepted = "an id for the type cron, and null for the others, is accepted";
            return Err(wrong("schedule", &schedule.into(), accepted));
        }
        Ok(Self {
            schedule,
            schedule_name,
            timestamp: timestamp.ok_or(InvalidTrigger::Missing("timestamp"))?,
            task,
            kind,
            session_mode: session_mode.ok_or(InvalidTrigger::Missing("sessionMode"))?,
            params,
            mcp_servers,
            run_id,
        })
    }

    /// Writes a file's content, which ends with a line feed.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }
}

fn mcp_servers(given: Option<Value>) -> Result<Vec<Value>, InvalidTrigger> {
    let servers = match given {
        None => return Ok(Vec::new()),
        Some(Value::Array(servers)) => servers,
        Some(other) => return Err(wrong("mcpServers", &other, "a list is accepted")),
    };
    if servers.len() > MCP_SERVERS {
        let accepted = format!("at most {MCP_SERVERS} are accepted");
        return Err(wrong("mcpServers", &servers.len().into(), accepted));
    }
    match servers.iter().find(|server| !server.is_object()) {
        Some(other) => Err(wrong("mcpServers", other, "each is an object")),
        None => Ok(servers),
    }
}
