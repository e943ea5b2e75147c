//! What makes up a tool.

use futures::future::BoxFuture;
use model::tools::ToolAccess;
use serde_json::{Map, Value};
use service::RunTools;

use crate::reply::Answer;

/// A tool.
pub(crate) struct Tool {
    /// The name by which agents call it.
    pub(crate) name: &'static str,
    /// The title for people.
    pub(crate) title: &'static str,
    /// What the tool does, for the agent.
    pub(crate) description: fn(ToolAccess) -> &'static str,
    /// The schema of the input, by the access of the agent.
    pub(crate) input: fn(ToolAccess) -> Value,
    /// The lowest access with which an agent gets the tool.
    pub(crate) needs: ToolAccess,
    /// `true` if only agents of sessions with several seats get the tool.
    pub(crate) needs_team: bool,
    /// `true` if the tool changes nothing for an agent with this access.
    pub(crate) is_read_only: fn(ToolAccess) -> bool,
    /// The function that the tool calls.
    pub(crate) call:
        for<'a> fn(&'a RunTools, ToolAccess, Map<String, Value>) -> BoxFuture<'a, Answer>,
}
