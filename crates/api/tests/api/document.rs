//! The document of the API.

use std::{fs, path::PathBuf};

use serde_json::Value;

fn document_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

#[test]
fn openapi_document_in_repository_is_up_to_date() {
    let mut served = serde_json::to_string_pretty(&api::document()).unwrap();
    served.push('\n');
    let path = document_path();
    if option_env!("MATINS_UPDATE").is_some() {
        fs::write(&path, &served).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == served,
        "docs/openapi.json differs from the served document; write it with: \
         MATINS_UPDATE=1 cargo test -p matins-api --test api document"
    );
}

#[test]
fn operations_have_summary_security_and_error_response() {
    let document = api::document();
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
                let detail = parameter["description"].as_str().unwrap_or_default();
                assert!(!detail.is_empty(), "{method} {path}: {}", parameter["name"]);
            }
        }
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands for one operation");
}

#[test]
fn openapi_references_resolve() {
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
    let document = api::document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for path in found {
        let pointer = path.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{path}");
    }
}

#[test]
fn operations_have_complete_description_and_examples() {
    let document = api::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let summary = operation["summary"].as_str().unwrap();
            let description = operation["description"].as_str().unwrap_or_default();
            assert!(!summary.ends_with('.'), "{method} {path}: {summary}");
            assert!(
                description.ends_with('.'),
                "{method} {path}: {description:?}"
            );
            assert_ne!(summary, description, "{method} {path}");
            let bodies = operation["responses"].as_object().unwrap().values();
            let bodies = bodies.chain([&operation["requestBody"]]);
            for body in bodies.filter_map(|body| body["content"].as_object()) {
                for (media, content) in body {
                    let shown = content.get("example");
                    assert!(shown.is_some(), "{method} {path}: {media} has no example");
                }
            }
        }
    }
}

#[test]
fn page_schemas_have_named_item_schema() {
    let document = api::document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let pages: Vec<_> = schemas
        .iter()
        .filter(|(name, _)| name.ends_with("Page"))
        .collect();
    assert!(pages.len() > 10);
    for (name, page) in pages {
        let item = page["properties"]["items"]["items"]["$ref"].as_str();
        assert!(item.is_some(), "{name}");
        assert!(!page["properties"]["next"].is_null(), "{name}");
    }
}

#[test]
fn union_schemas_have_discriminator() {
    let document = api::document();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if schema.get("oneOf").is_some() {
            let tag = &schema["discriminator"]["propertyName"];
            assert!(tag.is_string(), "{name} has no discriminator");
        }
    }
}

#[test]
fn patch_schemas_list_optional_fields() {
    let document = api::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(patch) = item.get("patch") else {
            continue;
        };
        let schema = &patch["requestBody"]["content"]["application/json"]["schema"];
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        assert!(name.ends_with("Patch"), "{path}");
        assert!(schema.get("required").is_none(), "{name}");
        assert!(schema["properties"].as_object().is_some(), "{name}");
    }
}

#[test]
fn trace_event_schema_is_discriminated_union() {
    let document = api::document();
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
            let required = variant["required"].as_array().unwrap();
            assert!(required.iter().any(|one| one == tag), "{path}");
        }
    }
}
