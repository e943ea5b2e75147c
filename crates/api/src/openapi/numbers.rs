//! Numbers without a sign: `utoipa` gives them the formats of signed ones, which end too early.

use serde_json::Value;

/// Gives every number without a sign its own bound instead of the format of a signed one.
pub(super) fn widen(document: &mut Value) {
    replace(document, "int32", u32::MAX.into());
    // Responses count with `i64`, which is `int64` indeed. No request does.
    let schemas = document["components"]["schemas"].as_object_mut();
    for (name, schema) in schemas.into_iter().flatten() {
        if name.ends_with("Request") {
            replace(schema, "int64", u64::MAX);
        }
    }
}

/// Replaces a format of numbers that begin at zero or above by the bound.
fn replace(part: &mut Value, format: &str, most: u64) {
    super::walk::each_node(part, &mut |node| {
        let is_unsigned = node["format"] == format && node["minimum"].as_u64().is_some();
        if let Some(schema) = node.as_object_mut().filter(|_| is_unsigned) {
            schema.remove("format");
            schema.entry("maximum").or_insert(most.into());
        }
    });
}
