//! The names of pages: the schema `Page_Run`, which `utoipa` generates for `Page<Run>`, becomes `RunPage`, whose
//! items refer to the schema `Run`.

use serde_json::{Value, json};

use super::walk::{SCHEMA_REF_PREFIX, for_each_node, schema_ref_name};

/// The prefix of the names that `utoipa` generates for pages.
const GENERATED_PREFIX: &str = "Page_";

/// Renames every page, corrects the references to it, and makes its items refer to their named schema.
pub(super) fn rename_pages(document: &mut Value) {
    for_each_node(document, &mut |node| {
        let generic = schema_ref_name(node).and_then(|name| name.strip_prefix(GENERATED_PREFIX));
        if let Some(item) = generic {
            node["$ref"] = format!("{SCHEMA_REF_PREFIX}{item}Page").into();
        }
    });
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    let names: Vec<String> = schemas.keys().cloned().collect();
    for name in names {
        let Some(item) = name.strip_prefix(GENERATED_PREFIX) else {
            continue;
        };
        let Some(mut page) = schemas.remove(&name) else {
            continue;
        };
        page["properties"]["items"]["items"] =
            json!({ "$ref": format!("{SCHEMA_REF_PREFIX}{item}") });
        schemas.insert(format!("{item}Page"), page);
    }
}
