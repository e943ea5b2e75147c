//! The document of the API.

use std::{fs, path::PathBuf};

use serde_json::Value;

fn snapshot() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

#[test]
fn the_document_in_the_repository_is_the_one_that_is_served() {
    let mut served = api::document().to_pretty_json().unwrap();
    served.push('\n');
    let path = snapshot();
    if option_env!("MATINS_UPDATE").is_some() {
        fs::write(&path, &served).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == served,
        "docs/openapi.json is not what is served; write it with: \
         MATINS_UPDATE=1 cargo test -p matins-api --test api document"
    );
}

#[test]
fn every_operation_says_what_it_is_who_may_and_what_it_answers() {
    let document = serde_json::to_value(api::document()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut ids = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            ids.push(id.to_owned());
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(operation["security"].is_array(), "{method} {path}");
            assert!(
                operation["responses"]["default"].is_object(),
                "{method} {path}"
            );
            let creates =
                operation["responses"].get("201").is_some() && id != "create_sign_in_link";
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let keyed = parameters
                .clone()
                .any(|one| one["name"] == "Idempotency-Key");
            assert!(
                keyed || !creates,
                "{method} {path} takes no Idempotency-Key"
            );
            for parameter in parameters {
                let told = parameter["description"].as_str().unwrap_or_default();
                assert!(!told.is_empty(), "{method} {path}: {}", parameter["name"]);
            }
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands for one operation");
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(path) if name == "$ref" => found.push(path),
                        _ => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let document = serde_json::to_value(api::document()).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for path in found {
        let pointer = path.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{path}");
    }
}

#[test]
fn trace_events_are_a_discriminated_union() {
    let document = serde_json::to_value(api::document()).unwrap();
    let stream = "/paths/~1api~1v1~1trace/get/responses/200/content/text~1event-stream/schema/$ref";
    let event = document.pointer(stream).unwrap();
    assert_eq!(event, "#/components/schemas/TraceEvent");
    for (name, tag) in [
        ("TraceEvent", "kind"),
        ("RunChange", "status"),
        ("SessionChange", "action"),
        ("ApprovalChange", "state"),
        ("AutomationChange", "action"),
    ] {
        let union = &document["components"]["schemas"][name];
        assert_eq!(union["discriminator"]["propertyName"], tag);
        let mapping = union["discriminator"]["mapping"].as_object().unwrap();
        let variants = union["oneOf"].as_array().unwrap();
        assert_eq!(mapping.len(), variants.len(), "{name}");
        for (word, path) in mapping {
            assert!(variants.iter().any(|one| one["$ref"] == *path), "{path}");
            let pointer = path.as_str().unwrap().strip_prefix('#').unwrap();
            let variant = document.pointer(pointer).unwrap();
            assert_eq!(
                variant["properties"][tag]["enum"],
                serde_json::json!([word])
            );
            assert_eq!(variant["required"][0], tag, "{path}");
        }
    }
}
