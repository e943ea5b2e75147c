//! What an agent tells during a turn, in our own words.

use serde_json::Value;

use crate::{Decision, PermissionRequest, Setting};

/// One thing told during a turn, in the order in which the agent said it.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A piece of the answer. Pieces put together are not always the answer: retries repeat text.
    Text(String),
    /// A piece of the agent's thoughts.
    Thought(String),
    /// A tool call began.
    ToolCall(ToolCall),
    /// A tool call changed; fields that are not told are as before.
    ToolCallUpdate {
        /// Which call.
        id: String,
        /// The new title. `None` if the title was removed.
        title: Option<String>,
        /// The new kind.
        kind: Option<String>,
        /// The new status.
        status: Option<String>,
        /// What went into the tool, in its own form.
        input: Option<Value>,
        /// What came out of the tool, in its own form.
        output: Option<Value>,
    },
    /// The agent's plan, whole each time.
    Plan(Vec<PlanEntry>),
    /// How full the context is, and what the session has cost.
    Usage(Usage),
    /// The session's title changed; `None` takes it away.
    Title(Option<String>),
    /// The agent changed its mode.
    ModeChanged(String),
    /// The agent's settings, whole each time.
    SettingsChanged(Vec<Setting>),
    /// The names of the commands that the agent offers.
    Commands(Vec<String>),
    /// The agent asked for permission and was answered.
    Permission {
        /// What it asked.
        request: PermissionRequest,
        /// What it was told.
        decision: Decision,
    },
    /// Anything else, as it came.
    Other(Value),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The agent's name for this call, unique in its session.
    pub id: String,
    /// What it shows to people.
    pub title: String,
    /// The protocol's word: `read`, `edit`, `execute`, `fetch`, ...
    pub kind: String,
    /// The protocol's word: `pending`, `in_progress`, `completed`, `failed`.
    pub status: String,
    /// What went into the tool, in its own form.
    pub input: Option<Value>,
    /// What came out of the tool, in its own form.
    pub output: Option<Value>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// The protocol's word: `high`, `medium`, `low`.
    pub priority: String,
    /// The protocol's word: `pending`, `in_progress`, `completed`.
    pub status: String,
}

/// How full the context is, and what the session has cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Tokens that fit.
    pub size: u64,
    /// What the session has cost so far, where the agent knows.
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// In units of the currency.
    pub amount: f64,
    /// An ISO 4217 code.
    pub currency: String,
}
