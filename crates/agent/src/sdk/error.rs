//! Why a request to an agent has no result.

use serde_json::Value;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallError {
    /// The agent answered with an error.
    Answered(AgentError),
    /// The agent's output ended before the answer.
    Closed,
    /// The answer is not what the protocol says.
    Malformed(String),
}

/// An error as the agent told it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentError {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}
