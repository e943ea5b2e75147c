//! Error responses: every operation has the same two, with the schema `Problem`.

use serde_json::{Value, json};

use super::walk::for_each_operation;

/// The status keys of the error responses.
pub(super) const ERROR_STATUS_KEYS: [&str; 2] = ["4XX", "default"];

/// Adds the error responses to every operation.
pub(super) fn describe(document: &mut Value) {
    for_each_operation(document, |operation| {
        for key in ERROR_STATUS_KEYS {
            operation["responses"][key] = json!({
                "description": "The request failed for the reason in the body.",
                "content": {
                    "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
                },
            });
        }
    });
}
