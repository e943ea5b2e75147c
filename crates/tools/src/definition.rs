//! The definitions of tools in the protocol's form.

use std::sync::Arc;

use rmcp::model::{Tool as Definition, ToolAnnotations};
use serde_json::{Map, Value, json};
use service::ToolOffer;

use crate::{reply::object, table, tool::Tool};

/// Returns the tools as an agent with this offer sees them (`tools/list` of MCP), in a fixed order.
pub fn definitions(offer: ToolOffer) -> Vec<Definition> {
    table::offered(offer)
        .map(|tool| define(tool, offer))
        .collect()
}

fn define(tool: &Tool, offer: ToolOffer) -> Definition {
    // Agents ask a person before a tool that may destroy or reach the open world, which these never do. The hints are
    // for that alone: authorisation lies in the run's secret and in the limits.
    let annotations = ToolAnnotations::new()
        .read_only((tool.is_read_only)(offer))
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    let description = (tool.description)(offer);
    Definition::new(tool.name, description, object((tool.input)(offer)))
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
