//! The names of pages: `Page<Run>` becomes `RunPage`, whose items are the named schema `Run`.

use serde_json::{Value, json};

use super::walk::{SCHEMAS, each_node, referenced};

const GENERIC: &str = "Page_";

/// Names every page and its items.
pub(super) fn name(document: &mut Value) {
    each_node(document, &mut |node| {
        let generic = referenced(node).and_then(|name| name.strip_prefix(GENERIC));
        if let Some(item) = generic {
            node["$ref"] = format!("{SCHEMAS}{item}Page").into();
        }
    });
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    let names: Vec<String> = schemas.keys().cloned().collect();
    for name in names {
        let Some(item) = name.strip_prefix(GENERIC) else {
            continue;
        };
        let Some(mut page) = schemas.remove(&name) else {
            continue;
        };
        page["properties"]["items"]["items"] = json!({ "$ref": format!("{SCHEMAS}{item}") });
        schemas.insert(format!("{item}Page"), page);
    }
}
