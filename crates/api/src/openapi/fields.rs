//! The fields of responses and patches: whether they are required, and whether they have a default. Every field of a
//! response is present, so that it is required. A field that a patch leaves out keeps its value. So no field of
//! either has a default.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    error_responses::ERROR_STATUS_KEYS,
    walk::{for_each_node, schema_ref_name},
};

/// Marks every field of every response as required, and removes the defaults from responses and patches. The schema
/// `Problem` is left out, because an error omits the members that do not apply (RFC 9457).
pub(super) fn describe(document: &mut Value) {
    let responses = response_schemas(document);
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    for (name, schema) in schemas.iter_mut().filter(|(name, _)| *name != "Problem") {
        let is_response = responses.contains(name);
        if !is_response && !name.ends_with("Patch") {
            continue;
        }
        for_each_node(schema, &mut |node| {
            let properties = node.get_mut("properties");
            let Some(properties) = properties.and_then(Value::as_object_mut) else {
                return;
            };
            for property in properties.values_mut() {
                if let Some(property) = property.as_object_mut() {
                    property.remove("default");
                }
            }
            if is_response {
                let all: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
                node["required"] = all.into();
            }
        });
    }
}

/// Returns the names of the schemas that successful responses contain.
pub(super) fn response_schemas(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for operation in operations(document) {
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (_, response) in
            responses.filter(|(status, _)| !ERROR_STATUS_KEYS.contains(&status.as_str()))
        {
            collect_schemas(document, &response["content"], &mut names);
        }
    }
    names
}

/// Returns the names of the schemas that requests contain.
#[cfg(test)]
fn request_schemas(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for operation in operations(document) {
        collect_schemas(document, &operation["requestBody"], &mut names);
    }
    names
}

/// Returns all operations of the document.
fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let items = document["paths"].as_object().into_iter().flatten();
    items.flat_map(|(_, item)| item.as_object().into_iter().flatten().map(|(_, it)| it))
}

/// Collects the names of the schemas to which a node refers, directly or through other schemas.
fn collect_schemas(document: &Value, node: &Value, names: &mut BTreeSet<String>) {
    // Descend only at the first visit, so that schemas that share parts are walked once.
    if let Some(name) = schema_ref_name(node)
        && names.insert(name.to_owned())
    {
        collect_schemas(document, &document["components"]["schemas"][name], names);
    }
    match node {
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_schemas(document, field, names)),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_schemas(document, item, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_and_response_schemas_are_disjoint() {
        let document = crate::document();
        let (requests, responses) = (request_schemas(&document), response_schemas(&document));
        let schemas = &document["components"]["schemas"];
        let shared: Vec<_> = requests
            .intersection(&responses)
            .filter(|name| !schemas[name.as_str()]["properties"].is_null())
            .collect();
        assert_eq!(shared, [] as [&String; 0]);
    }
}
