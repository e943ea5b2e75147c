//! Unsigned numbers: `utoipa` describes them with the formats of signed numbers (`int32`, `int64`), whose maximum is
//! too low.

use serde_json::Value;

/// Replaces the signed format of every unsigned number by the maximum of the unsigned type.
pub(super) fn widen(document: &mut Value) {
    replace(document, "int32", u32::MAX.into());
    // In responses, `int64` numbers are `i64` in the code, so that their format is right. In requests they are `u64`.
    let schemas = document["components"]["schemas"].as_object_mut();
    for (name, schema) in schemas.into_iter().flatten() {
        if name.ends_with("Request") {
            replace(schema, "int64", u64::MAX);
        }
    }
}

/// Replaces a format by a maximum, for numbers whose minimum is 0 or more. A maximum that the schema has stays.
fn replace(part: &mut Value, format: &str, most: u64) {
    super::walk::for_each_node(part, &mut |node| {
        let is_unsigned = node["format"] == format && node["minimum"].as_u64().is_some();
        if let Some(schema) = node.as_object_mut().filter(|_| is_unsigned) {
            schema.remove("format");
            schema.entry("maximum").or_insert(most.into());
        }
    });
}
