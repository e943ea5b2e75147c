//! Forms: the questions of the protocol's elicitation, with fields of plain types.
//!
//! **Invariant:** a [`Form`] has bounded size and only fields that this version can show and check, so that each answer
//! to it can be checked. The `pattern` of a text is shown and not checked, because the pattern is that of the agent.

use serde_json::{Map, Value};

use crate::time::Timestamp;

/// The largest form, in bytes of JSON.
const FORM_BYTES: usize = 16 * 1024;
/// The highest number of fields of a form.
const MAX_FIELDS: usize = 20;
/// The highest number of choices of a field.
const MAX_CHOICES: usize = 100;
/// The longest name of a field and the longest choice, in bytes.
const WORD_BYTES: usize = 200;

/// The reason for which a form or an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct FormError {
    /// The field, or `form`.
    pub field: String,
    /// The problem.
    pub problem: String,
}

fn refuse<T>(field: &str, problem: impl Into<String>) -> Result<T, FormError> {
    Err(FormError {
        field: field.to_owned(),
        problem: problem.into(),
    })
}

/// A form that a person fills in.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The schema, as the agent sent it.
    schema: Value,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
struct Field {
    name: String,
    is_required: bool,
    default: Option<Value>,
    kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldKind {
    Text {
        least: Option<u64>,
        most: Option<u64>,
        format: Option<String>,
    },
    Choice(Vec<String>),
    Number {
        is_integer: bool,
        least: Option<f64>,
        most: Option<f64>,
    },
    Boolean,
    Choices {
        choices: Vec<String>,
        least: Option<u64>,
        most: Option<u64>,
    },
}

impl Form {
    /// Parses the schema of a form.
    ///
    /// # Errors
    ///
    /// Refuses a schema that is too large, and one with a field of a kind that this version does not know.
    pub fn parse(schema: &Value) -> Result<Self, FormError> {
        let bytes = schema.to_string().len();
        if bytes > FORM_BYTES {
            return refuse(
                "form",
                format!("has {bytes} bytes, accepted are {FORM_BYTES}"),
            );
        }
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return refuse("form", "has no properties");
        };
        if properties.is_empty() || properties.len() > MAX_FIELDS {
            return refuse("form", format!("must have 1 to {MAX_FIELDS} fields"));
        }
        let required = names(schema.get("required"));
        for name in &required {
            if !properties.contains_key(*name) {
                return refuse(name, "is required and no property");
            }
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            if name.is_empty() || name.len() > WORD_BYTES {
                return refuse("form", "has a name of a field that is empty or too long");
            }
            let kind = FieldKind::parse(name, property)?;
            let default = property.get("default").filter(|default| !default.is_null());
            if let Some(default) = default {
                kind.check(name, default)?;
            }
            fields.push(Field {
                name: name.clone(),
                is_required: required.contains(&name.as_str()),
                default: default.cloned(),
                kind,
            });
        }
        Ok(Self {
            schema: schema.clone(),
            fields,
        })
    }

    /// Returns the schema, as the agent sent it.
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the answer of a person who leaves each field as it is. Returns `None` if a required field has no default.
    pub fn defaults(&self) -> Option<Value> {
        let mut answer = Map::new();
        for field in &self.fields {
            match &field.default {
                Some(default) => {
                    answer.insert(field.name.clone(), default.clone());
                }
                None if field.is_required => return None,
                None => {}
            }
        }
        Some(Value::Object(answer))
    }

    /// Checks an answer.
    ///
    /// # Errors
    ///
    /// Refuses an answer that is no object, lacks a required field, has an unknown one, or has a value that the field does
    /// not accept.
    pub fn check(&self, answer: &Value) -> Result<(), FormError> {
        let Some(given) = answer.as_object() else {
            return refuse("form", "is answered by an object with its fields");
        };
        for name in given.keys() {
            if !self.fields.iter().any(|field| field.name == *name) {
                let known: Vec<_> = self
                    .fields
                    .iter()
                    .map(|field| field.name.as_str())
                    .collect();
                return refuse(
                    name,
                    format!("is no field: accepted are {}", known.join(", ")),
                );
            }
        }
        for field in &self.fields {
            match given.get(&field.name) {
                Some(value) => field.kind.check(&field.name, value)?,
                None if field.is_required => return refuse(&field.name, "is required"),
                None => {}
            }
        }
        Ok(())
    }
}

impl FieldKind {
    fn parse(name: &str, property: &Value) -> Result<Self, FormError> {
        let count = |key: &str| property.get(key).and_then(Value::as_u64);
        let number = |key: &str| property.get(key).and_then(Value::as_f64);
        match property.get("type").and_then(Value::as_str) {
            Some("string") => {
                let choices = choices(name, property)?;
                if !choices.is_empty() {
                    return Ok(Self::Choice(choices));
                }
                Ok(Self::Text {
                    least: count("minLength"),
                    most: count("maxLength"),
                    format: property
                        .get("format")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                })
            }
            Some(kind @ ("number" | "integer")) => Ok(Self::Number {
                is_integer: kind == "integer",
                least: number("minimum"),
                most: number("maximum"),
            }),
            Some("boolean") => Ok(Self::Boolean),
            Some("array") => {
                let items = property.get("items").unwrap_or(&Value::Null);
                let choices = choices(name, items)?;
                if choices.is_empty() {
                    return refuse(name, "is a list without choices");
                }
                Ok(Self::Choices {
                    choices,
                    least: count("minItems"),
                    most: count("maxItems"),
                })
            }
            _ => refuse(name, "has a type that this version does not know"),
        }
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), FormError> {
        match self {
            Self::Text {
                least,
                most,
                format,
            } => check_text(name, value, *least, *most, format.as_deref()),
            Self::Choice(choices) => match value.as_str() {
                Some(text) if choices.iter().any(|choice| choice == text) => Ok(()),
                _ => refuse(name, format!("accepts one of {}", choices.join(", "))),
            },
            Self::Number {
                is_integer,
                least,
                most,
            } => {
                let Some(number) = value.as_f64() else {
                    return refuse(name, "is a number");
                };
                if *is_integer && number.fract() != 0.0 {
                    return refuse(name, "is a whole number");
                }
                match (least, most) {
                    (Some(least), _) if number < *least => {
                        refuse(name, format!("is at least {least}"))
                    }
                    (_, Some(most)) if number > *most => refuse(name, format!("is at most {most}")),
                    _ => Ok(()),
                }
            }
            Self::Boolean if value.is_boolean() => Ok(()),
            Self::Boolean => refuse(name, "is `true` or `false`"),
            Self::Choices {
                choices,
                least,
                most,
            } => {
                let Some(items) = value.as_array() else {
                    return refuse(name, "is a list");
                };
                let is_known = |item: &Value| {
                    item.as_str()
                        .is_some_and(|text| choices.iter().any(|choice| choice == text))
                };
                if !items.iter().all(is_known) {
                    return refuse(name, format!("accepts some of {}", choices.join(", ")));
                }
                check_length(name, items.len(), *least, *most, "items")
            }
        }
    }
}

fn check_text(
    name: &str,
    value: &Value,
    least: Option<u64>,
    most: Option<u64>,
    format: Option<&str>,
) -> Result<(), FormError> {
    let Some(text) = value.as_str() else {
        return refuse(name, "is a text");
    };
    check_length(name, text.chars().count(), least, most, "characters")?;
    let (accepted, fits) = match format {
        Some("email") => ("an address such as ada@example.org", is_email(text)),
        Some("uri") => ("an address such as https://example.org", text.contains(':')),
        Some("date") => (
            "a date such as 2026-11-26",
            text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        ),
        Some("date-time") => (
            "an instant such as 2026-11-26T09:00:00Z",
            text.parse::<Timestamp>().is_ok(),
        ),
        _ => ("", true),
    };
    if fits {
        Ok(())
    } else {
        refuse(name, format!("is {accepted}"))
    }
}

fn is_email(text: &str) -> bool {
    text.split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}

fn check_length(
    name: &str,
    length: usize,
    least: Option<u64>,
    most: Option<u64>,
    unit: &str,
) -> Result<(), FormError> {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    match (least, most) {
        (Some(least), _) if length < least => refuse(name, format!("has at least {least} {unit}")),
        (_, Some(most)) if length > most => refuse(name, format!("has at most {most} {unit}")),
        _ => Ok(()),
    }
}

/// Returns the values of `enum`, or the constants of `oneOf` or `anyOf`.
fn choices(name: &str, property: &Value) -> Result<Vec<String>, FormError> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| property.get(key));
    let choices: Vec<String> = match titled.and_then(Value::as_array) {
        Some(options) => options
            .iter()
            .filter_map(|option| option.get("const").and_then(Value::as_str))
            .map(str::to_owned)
            .collect(),
        None => names(property.get("enum"))
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    if choices.len() > MAX_CHOICES || choices.iter().any(|choice| choice.len() > WORD_BYTES) {
        return refuse(
            name,
            format!("must have up to {MAX_CHOICES} choices of up to {WORD_BYTES} bytes"),
        );
    }
    Ok(choices)
}

fn names(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2, "maxLength": 5 },
                "day": { "type": "string", "format": "date" },
                "colour": { "type": "string", "enum": ["red", "blue"], "default": "red" },
                "size": { "type": "integer", "minimum": 1, "maximum": 9, "default": 3 },
                "now": { "type": "boolean", "default": false },
                "days": {
                    "type": "array", "maxItems": 1,
                    "items": { "anyOf": [{ "const": "mon", "title": "Monday" }] },
                },
            },
            "required": ["colour", "size"],
        });
        Form::parse(&schema).unwrap()
    }

    #[test]
    fn invalid_answer_names_its_field() {
        for (answer, problem) in [
            (json!("red"), "`form` is answered by an object"),
            (json!({ "size": 1 }), "`colour` is required"),
            (
                json!({ "colour": "red", "size": 1, "x": 1 }),
                "`x` is no field",
            ),
            (
                json!({ "colour": "green", "size": 1 }),
                "`colour` accepts one of red, blue",
            ),
            (
                json!({ "colour": "red", "size": 1.5 }),
                "`size` is a whole number",
            ),
            (
                json!({ "colour": "red", "size": 10 }),
                "`size` is at most 9",
            ),
            (
                json!({ "colour": "red", "size": "1" }),
                "`size` is a number",
            ),
            (
                json!({ "colour": "red", "size": 1, "name": "a" }),
                "`name` has at least 2",
            ),
            (
                json!({ "colour": "red", "size": 1, "name": "abcdef" }),
                "`name` has at most 5",
            ),
            (
                json!({ "colour": "red", "size": 1, "day": "26.11." }),
                "`day` is a date",
            ),
            (
                json!({ "colour": "red", "size": 1, "now": "yes" }),
                "`now` is `true` or `false`",
            ),
            (
                json!({ "colour": "red", "size": 1, "days": ["tue"] }),
                "`days` accepts some of mon",
            ),
            (
                json!({ "colour": "red", "size": 1, "days": ["mon", "mon"] }),
                "`days` has at most 1",
            ),
        ] {
            let error = form().check(&answer).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{answer}: {error}");
        }
        let whole = json!({
            "colour": "blue", "size": 9, "name": "Ada", "day": "2026-11-26", "now": true, "days": ["mon"],
        });
        form().check(&whole).unwrap();
    }

    #[test]
    fn defaults_answer_only_if_every_required_field_has_one() {
        let defaults = form().defaults().unwrap();
        assert_eq!(
            defaults,
            json!({ "colour": "red", "size": 3, "now": false })
        );
        form().check(&defaults).unwrap();
        let without = json!({
            "properties": { "a": { "type": "string" } }, "required": ["a"],
        });
        assert_eq!(Form::parse(&without).unwrap().defaults(), None);
    }

    #[test]
    fn form_that_cannot_be_checked_is_refused() {
        let many: Map<String, Value> = (0..=MAX_FIELDS)
            .map(|number| (number.to_string(), json!({ "type": "boolean" })))
            .collect();
        for (schema, problem) in [
            (json!({}), "`form` has no properties"),
            (
                json!({ "properties": {} }),
                "`form` must have 1 to 20 fields",
            ),
            (
                json!({ "properties": many }),
                "`form` must have 1 to 20 fields",
            ),
            (
                json!({ "properties": { "a": { "type": "file" } } }),
                "`a` has a type",
            ),
            (
                json!({ "properties": { "a": { "type": "array" } } }),
                "`a` is a list without",
            ),
            (
                json!({ "properties": { "a": { "type": "boolean" } }, "required": ["b"] }),
                "`b` is required and no property",
            ),
            (
                json!({ "properties": { "a": { "type": "integer", "default": "x" } } }),
                "`a` is a number",
            ),
            (
                json!({ "properties": { "a": { "type": "string", "title": "x".repeat(FORM_BYTES) } } }),
                "`form` has",
            ),
        ] {
            let error = Form::parse(&schema).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
