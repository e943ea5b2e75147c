//! Examples of requests and responses, made of the schemas and of the values at the end of this file.

use api_types::ProblemKind;
use serde_json::{Map, Value, json};

use super::{
    error_responses::ERROR_STATUS_KEYS,
    walk::{for_each_operation, schema_ref_name},
};

/// The depth at which an example ends. No schema contains itself, so that no example reaches it; it turns a future
/// recursive schema into nulls instead of a stack overflow.
const MAX_DEPTH: usize = 16;

/// Adds an example to every body of an operation.
pub(super) fn add(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let request = Examples {
        schemas: &schemas,
        is_request: true,
    };
    let response = Examples {
        schemas: &schemas,
        is_request: false,
    };
    for_each_operation(document, |operation| {
        if let Some(content) = operation.pointer_mut("/requestBody/content") {
            request.fill(content);
        }
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (status, response_body) in responses {
            if ERROR_STATUS_KEYS.contains(&status.as_str()) {
                response_body["content"]["application/problem+json"]["example"] = problem_example();
            } else if let Some(content) = response_body.get_mut("content") {
                response.fill(content);
            }
        }
    });
}

/// Makes examples of requests or of responses.
struct Examples<'a> {
    schemas: &'a Value,
    is_request: bool,
}

impl Examples<'_> {
    /// Adds an example to each media type of a body.
    fn fill(&self, content: &mut Value) {
        for (media, body) in content.as_object_mut().into_iter().flatten() {
            body["example"] = match media.as_str() {
                // A stream has the schema of the data of its events.
                "application/json" | "text/event-stream" => self.value("", &body["schema"], 0),
                "text/markdown" => {
                    "# Notes\n\n## You, 2027-01-04 09:00:00 +00:00\n\nHello\n".into()
                }
                "application/octet-stream" => "# Report\n".into(),
                "application/jsonl" => "{\"format\":\"matins.session\",\"version\":2}\n".into(),
                _ => "{\"ref\":\"main\"}".into(),
            };
        }
    }

    /// Returns an example of the value of a field. Preferred is the default of the schema, then a value known for the
    /// schema, then one made of its structure.
    fn value(&self, field: &str, schema: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            return default.clone();
        }
        if let Some(name) = schema_ref_name(schema) {
            return match schema_example(name) {
                Some(example) => example,
                None => self.value(field, &self.schemas[name], depth + 1),
            };
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in parts {
                if let Value::Object(mut part) = self.value(field, part, depth + 1) {
                    whole.append(&mut part);
                }
            }
            return whole.into();
        }
        if let Some(kinds) = schema["oneOf"].as_array() {
            let kind = kinds.iter().find(|kind| kind["type"] != "null");
            return kind.map_or(Value::Null, |kind| self.value(field, kind, depth + 1));
        }
        if let Some(example) = schema["examples"].get(0).or_else(|| schema["enum"].get(0)) {
            return example.clone();
        }
        let types = schema["type"].as_array();
        let named = types.and_then(|types| types.iter().find(|name| **name != "null"));
        match named.unwrap_or(&schema["type"]).as_str() {
            Some("object") => self.object(schema, depth),
            Some("array") => json!([self.value(field, &schema["items"], depth + 1)]),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(matches!(field, "deleted" | "serves" | "is_entry")),
            Some("string") => text_example(field, schema),
            _ => json!({}),
        }
    }

    /// Returns an example of an object. A request has the required fields, and those optional ones for which
    /// [`request_field_example`] has a value. A response has all fields, and those that may be null are null.
    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required: Vec<_> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let shown = properties.filter_map(|(name, property)| {
            let is_required = required.iter().any(|field| *field == name);
            let value = if self.is_request && !is_required {
                request_field_example(name)?
            } else if !self.is_request && is_nullable(property) {
                Value::Null
            } else {
                self.value(name, property, depth + 1)
            };
            Some((name.clone(), value))
        });
        Value::Object(shown.collect())
    }
}

/// `true` if a property accepts null.
fn is_nullable(property: &Value) -> bool {
    let has_null = |list: &Value| {
        let mut items = list.as_array().into_iter().flatten();
        items.any(|item| item == "null" || item["type"] == "null")
    };
    has_null(&property["type"]) || has_null(&property["oneOf"])
}

/// Returns the example of a schema whose structure does not give a valid or a useful one.
fn schema_example(name: &str) -> Option<Value> {
    Some(match name {
        "Period" => json!("10m"),
        "SessionTarget" => json!("continuous"),
        "TriggerRequest" => json!({
            "kind": "cron", "expression": "0 9 * * 1-5", "zone": "Europe/Prague",
        }),
        "AutomationPatch" => json!({ "policies": { "overlap": "skip" } }),
        "BudgetRequest" => json!({ "month": { "tokens": 100_000_000 } }),
        "Money" | "MoneyRequest" => json!({ "amount": "20", "currency": "USD" }),
        "SessionPatch" => json!({ "title": "Notes" }),
        "WorkerId" => json!("laptop-4711-0a1b2c3d"),
        "AcpSessionId" => json!("0a1b2c3d"),
        _ => return None,
    })
}

/// Returns the example of an optional field of a request. Returns `None` for a field that examples leave out.
fn request_field_example(name: &str) -> Option<Value> {
    Some(match name {
        "triggers" => json!([{ "kind": "cron", "expression": "0 9 * * 1-5" }]),
        "name" => json!("standup"),
        "agent" => json!("demo"),
        "title" => json!("Notes"),
        "zone" => json!("Europe/Prague"),
        "comment" => json!("It only reads."),
        "reason" => json!("The work is done."),
        "depth" => json!("session"),
        "overlap_seconds" => json!(86_400),
        _ => return None,
    })
}

/// Returns the example of a text, by its format, its pattern or the name of its field.
fn text_example(field: &str, schema: &Value) -> Value {
    if schema["format"] == "date-time" {
        return json!("2027-01-04T09:00:00Z");
    }
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    let prefix = pattern
        .strip_prefix('^')
        .and_then(|pattern| pattern.strip_suffix("_[0-9a-f]{32}$"));
    if let Some(prefix) = prefix {
        return format!("{prefix}_019b8a2e4c7d7f31a5c60d8e9f1a2b3c").into();
    }
    json!(match field {
        "name" | "bound_automations" => "standup",
        "prompt" => "What changed since yesterday?",
        "content" | "text" => "Look at the new issues.",
        "agent" => "demo",
        "url" => "https://example.com/hook",
        "cwd" => "/srv/project",
        "command" => "matins",
        "zone" => "Europe/Prague",
        "expression" => "0 9 * * 1-5",
        "at" => "2027-01-04T09:00:00Z",
        "display" => "Mon 2027-01-04 09:00:00 +01:00 Europe/Prague",
        "tool" | "tool_kind" => "execute",
        "title" => "cargo test",
        "role" => "agent",
        "media_type" => "text/markdown",
        "version" => "0.1.0",
        "code" => "k3xq7p",
        "path" => "/api/v1/webhooks/trg_019b8a2e4c7d7f31a5c60d8e9f1a2b3c",
        "secret" => "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        _ => "text",
    })
}

/// Returns the example of an error.
fn problem_example() -> Value {
    json!({
        "type": "/api/v1/docs#problem-invalid",
        "kind": "invalid",
        "title": ProblemKind::Invalid.title(),
        "status": 400,
        "detail": "invalid `limit` 501: accepted are 1 to 500",
        "field": "limit",
    })
}
