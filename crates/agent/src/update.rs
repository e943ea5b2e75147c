//! The updates of an agent during a turn, independent of the protocol's SDK.

use serde_json::Value;

use crate::{Decision, PermissionRequest, Setting};

/// One update of a turn. Updates keep the order in which the agent sent them.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A piece of the answer. The pieces together are not always the answer, because an agent that retries repeats
    /// text.
    Text(String),
    /// A piece of the agent's thoughts.
    Thought(String),
    /// A new tool call.
    ToolCall(ToolCall),
    /// A change of a tool call.
    ToolCallUpdate(ToolCallUpdate),
    /// The agent's whole plan, which replaces the previous one.
    Plan(Vec<PlanEntry>),
    /// The fill of the context and the cost of the session.
    Usage(Usage),
    /// The new title of the session. `None` removes the title.
    Title(Option<String>),
    /// The ID of the mode that the agent changed to.
    ModeChanged(String),
    /// All settings of the agent, which replace the previous ones.
    SettingsChanged(Vec<Setting>),
    /// The names of the commands that the agent offers.
    Commands(Vec<String>),
    /// Information for people that is no part of the answer.
    Notice(Notice),
    /// A compaction of the context, or a change of one.
    Compaction(CompactionUpdate),
    /// A piece that continues the summary of a compaction.
    CompactionSummary {
        /// The agent's ID of the compaction.
        id: String,
        /// The piece. Empty if it is no text.
        text: String,
    },
    /// A permission request and its answer.
    Permission {
        /// The agent's request.
        request: PermissionRequest,
        /// The answer.
        decision: Decision,
    },
    /// Any other update, as the agent sent it.
    Other(Value),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The agent's ID of the call, unique in its session.
    pub id: String,
    /// The title that the agent shows to people.
    pub title: String,
    /// The kind in the protocol's words: `read`, `edit`, `execute`, `fetch`, ...
    pub kind: String,
    /// The status in the protocol's words: `pending`, `in_progress`, `completed` or `failed`.
    pub status: String,
    /// The input of the tool, in the tool's own form.
    pub input: Option<Value>,
    /// The output of the tool, in the tool's own form.
    pub output: Option<Value>,
    /// The content that the agent shows to people, in the protocol's form: an array of texts, diffs and terminals.
    pub content: Option<Value>,
    /// The files that the call works on, in the protocol's form: an array of paths and lines.
    pub locations: Option<Value>,
}

/// A change of a tool call. A field with `None` keeps its previous value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCallUpdate {
    /// The agent's ID of the call.
    pub id: String,
    /// The new title.
    pub title: Option<String>,
    /// The new kind.
    pub kind: Option<String>,
    /// The new status.
    pub status: Option<String>,
    /// The new input.
    pub input: Option<Value>,
    /// The new output.
    pub output: Option<Value>,
    /// The new content, which replaces the previous one.
    pub content: Option<Value>,
    /// The new files, which replace the previous ones.
    pub locations: Option<Value>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The task.
    pub content: String,
    /// The priority in the protocol's words: `high`, `medium` or `low`.
    pub priority: String,
    /// The status in the protocol's words: `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// Information for people that is no part of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The severity in the protocol's words: `info`, `warning` or `error`.
    pub severity: String,
    /// The title, which is understood alone.
    pub title: String,
    /// Details or advice.
    pub description: Option<String>,
}

/// A compaction of the context, or a change of one. A field with `None` keeps its previous value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionUpdate {
    /// The agent's ID of the compaction, unique in its session.
    pub id: String,
    /// The status in the protocol's words: `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// The new summary, which replaces the previous one. Empty if the agent removed the summary.
    pub summary: Option<String>,
    /// The new text of the error. Empty if the agent removed the text.
    pub error: Option<String>,
}

/// The fill of the context and the cost of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// The number of tokens in the context.
    pub used: u64,
    /// The number of tokens that fit into the context.
    pub size: u64,
    /// The cost of the session so far. `None` if the agent does not know it.
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The amount, in units of the currency.
    pub amount: f64,
    /// The ISO 4217 code of the currency.
    pub currency: String,
}
