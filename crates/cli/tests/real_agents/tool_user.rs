//! The ways in which real agents offer the tools of MCP servers to their models.

use serde_json::{Value, json};

use super::commands::LaunchAgent;

/// The way in which an agent offers the tools of MCP servers to its model.
#[derive(Clone, Copy)]
pub(crate) enum ToolOffer {
    /// Each with its schema.
    Direct,
    /// By their names. After a search, the model calls them directly.
    AfterSearch,
    /// By their names. After a search, the model names them in calls of another tool.
    ThroughCall,
    /// As functions for the programs that the model writes.
    ThroughProgram,
}

impl ToolOffer {
    /// Returns the calls of the agent's tools by which its model calls these tools of Matins, each as `NAME ARGUMENTS`.
    pub(crate) fn model_calls(self, calls: &[(&str, Value)]) -> Vec<String> {
        let own_name = |tool: &str| format!("mcp__matins__{tool}");
        let mut names: Vec<String> = Vec::new();
        for (tool, _) in calls {
            if !names.contains(&own_name(tool)) {
                names.push(own_name(tool));
            }
        }
        let query = json!({"query": format!("select:{}", names.join(","))});
        let search = match self {
            Self::Direct | Self::ThroughProgram => None,
            Self::AfterSearch => Some(format!("ToolSearch {query}")),
            Self::ThroughCall => Some(format!("tool_search {query}")),
        };
        let calls = calls.iter().map(|(tool, arguments)| match self {
            Self::Direct | Self::AfterSearch => format!("{tool} {arguments}"),
            Self::ThroughCall => {
                let call = json!({"name": own_name(tool), "arguments": arguments});
                format!("tool_call {call}")
            }
            Self::ThroughProgram => {
                let call = format!("await tools.mcp_matins.{tool}({arguments})");
                let code = format!("async function main() {{ return {call}; }}");
                format!("run_typescript {}", json!({ "code": code }))
            }
        });
        search.into_iter().chain(calls).collect()
    }
}

/// An agent with its way to call tools.
#[derive(Clone, Copy)]
pub(crate) struct ToolUser {
    pub(crate) start: LaunchAgent,
    /// The options with which a person adds the agent.
    pub(crate) options: &'static [&'static str],
    pub(crate) offer: ToolOffer,
}
