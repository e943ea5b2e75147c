//! Walks through the document.

use serde_json::Value;

/// Calls `each` for every operation of the document.
pub(super) fn for_each_operation(document: &mut Value, mut each: impl FnMut(&mut Value)) {
    let items = document["paths"].as_object_mut();
    for item in items.into_iter().flat_map(|items| items.values_mut()) {
        let operations = item.as_object_mut().into_iter().flatten();
        for (_, operation) in operations {
            each(operation);
        }
    }
}

/// Calls `each` for every object and array of a part of the document, the outer ones first.
pub(super) fn for_each_node(node: &mut Value, each: &mut impl FnMut(&mut Value)) {
    each(node);
    match node {
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| for_each_node(field, each)),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_node(item, each)),
        _ => {}
    }
}

/// Returns the name of the schema to which a reference leads.
pub(super) fn schema_ref_name(node: &Value) -> Option<&str> {
    node["$ref"].as_str()?.strip_prefix(SCHEMA_REF_PREFIX)
}

/// The path of the schemas in references.
pub(super) const SCHEMA_REF_PREFIX: &str = "#/components/schemas/";
