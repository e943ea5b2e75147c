//! The content of the file by which the server delivers a run.

use model::{AutomationId, RunId, Timestamp, policy::SessionMode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::trigger::TriggerKind;

/// The content of the file by which the server delivers a run. A runtime of Matins reads only the ID of the run. The
/// other fields are for programs that watch the folder instead of it. No field holds a secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunTrigger {
    /// The ID of the automation. `None` for a person's message and for a task.
    pub schedule: Option<AutomationId>,
    /// The name of the automation. `None` for a person's message and for a task.
    pub schedule_name: Option<String>,
    /// The due instant, or the instant of the message.
    pub timestamp: Timestamp,
    /// The instruction for the agent.
    pub task: String,
    /// The source of the run.
    #[serde(rename = "type")]
    pub kind: TriggerKind,
    /// The session mode, which determines the session of the turn.
    pub session_mode: SessionMode,
    /// Additional parameters for the prompt.
    pub params: Map<String, Value>,
    /// The MCP servers for the agent: always an empty list, because their configuration can hold secrets.
    mcp_servers: [Value; 0],
    /// The run that the file delivers.
    pub run_id: RunId,
}

impl RunTrigger {
    /// Returns the content for a run of no automation and without parameters.
    pub fn new(
        run_id: RunId,
        kind: TriggerKind,
        timestamp: Timestamp,
        task: String,
        session_mode: SessionMode,
    ) -> Self {
        Self {
            schedule: None,
            schedule_name: None,
            timestamp,
            task,
            kind,
            session_mode,
            params: Map::new(),
            mcp_servers: [],
            run_id,
        }
    }

    /// Returns the content for a run of an automation.
    #[must_use]
    pub fn of_automation(self, automation: AutomationId, name: String) -> Self {
        Self {
            schedule: Some(automation),
            schedule_name: Some(name),
            ..self
        }
    }

    /// Formats the content of the file, with a line feed at the end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|line| line + "\n")
    }
}
