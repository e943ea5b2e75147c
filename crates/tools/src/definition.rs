//! The definitions of tools in the protocol's form.

use std::sync::Arc;

use model::tools::ToolAccess;
use rmcp::model::{Tool as Definition, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::{reply::object, table, tool::Tool};

/// Returns the tools as an agent with this access sees them (`tools/list` of MCP), in a fixed order. `in_team` is `true` in
/// a session with several seats.
pub fn definitions(access: ToolAccess, in_team: bool) -> Vec<Definition> {
    table::offered(access, in_team)
        .map(|tool| define(tool, access))
        .collect()
}

fn define(tool: &Tool, access: ToolAccess) -> Definition {
    // Agents ask a person before a tool that may destroy or reach the open world, which these never do. The hints are
    // for that alone: authorisation lies in the run's secret and in the limits.
    let annotations = ToolAnnotations::new()
        .read_only((tool.is_read_only)(access))
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    let description = (tool.description)(access);
    Definition::new(tool.name, description, object((tool.input)(access)))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(output_schema()))
        .with_annotations(annotations)
}

/// Returns the schema of every answer. Only `ok` is certain, because an error has other fields.
fn output_schema() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
    }))
}
