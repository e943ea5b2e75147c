//! Discriminators of tagged unions: each variant becomes a schema of its own, and the union names the property that
//! tells the variants apart. Client generators then make one class for each variant.

use serde_json::{Map, Value, json};

use super::walk::SCHEMA_REF_PREFIX;

/// Names the variants of every tagged union. A variant of a request refuses unknown keys, as the code does; `utoipa`
/// does not generate that.
pub(super) fn add_discriminators(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else {
        return;
    };
    let mut kinds = Map::new();
    for (name, schema) in schemas.iter_mut() {
        let Some(tag) = discriminator(schema) else {
            continue;
        };
        let closed = name.ends_with("Request");
        let mut mapping = Map::new();
        let items = schema["oneOf"].as_array_mut().into_iter().flatten();
        for item in items {
            let word = single_enum_value(item, &tag).unwrap_or_default().to_owned();
            let kind = format!("{name}{}", to_pascal_case(&word));
            let reference = format!("{SCHEMA_REF_PREFIX}{kind}");
            let mut described = std::mem::replace(item, json!({ "$ref": reference }));
            if closed {
                described["additionalProperties"] = false.into();
            }
            kinds.insert(kind, described);
            mapping.insert(word, reference.into());
        }
        // Without a type, validators that follow the discriminator accept null.
        schema["type"] = "object".into();
        schema["discriminator"] = json!({ "propertyName": tag, "mapping": mapping });
    }
    schemas.append(&mut kinds);
}

/// Returns the property that tells the variants of a union apart: every variant has it, with exactly one allowed
/// value. Returns `None` if the schema is no tagged union.
fn discriminator(schema: &Value) -> Option<String> {
    let items = schema["oneOf"].as_array()?;
    let mut candidates = items.first()?["properties"].as_object()?.keys();
    let is_discriminator = |tag: &&String| {
        items
            .iter()
            .all(|item| single_enum_value(item, tag).is_some())
    };
    candidates.find(is_discriminator).cloned()
}

/// Returns the only allowed value of a property, or `None` if it has none or several.
fn single_enum_value<'a>(item: &'a Value, tag: &str) -> Option<&'a str> {
    match item["properties"][tag]["enum"].as_array()?.as_slice() {
        [word] => word.as_str(),
        _ => None,
    }
}

/// Converts `sign_in_needed` to `SignInNeeded`.
fn to_pascal_case(word: &str) -> String {
    let parts = word.split('_').map(|part| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    parts.collect()
}
