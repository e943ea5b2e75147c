//! The one schema of all errors.

use serde_json::{Value, json};

use super::walk::each_operation;

/// The keys of responses that are errors.
pub(super) const ERRORS: [&str; 2] = ["4XX", "default"];

/// Adds the errors to every operation.
pub(super) fn describe(document: &mut Value) {
    each_operation(document, |operation| {
        for key in ERRORS {
            operation["responses"][key] = json!({
                "description": "The request was not done, for the reason in the body.",
                "content": {
                    "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
                },
            });
        }
    });
}
