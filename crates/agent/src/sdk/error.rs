//! The errors of a request to an agent.

use serde_json::Value;

/// The reason why a request to an agent has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallError {
    /// The agent replied with an error.
    ErrorReply(AgentError),
    /// The agent's output ended before the reply.
    Closed,
    /// The agent's reply does not match the protocol.
    Malformed(String),
}

/// An error from the agent's reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentError {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}
