//! A parser of untrusted JSON that refuses duplicate fields, deep nesting and too many values.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES};

/// A limit that a content exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentLimit {
    /// The size of the file.
    Bytes,
    /// The nesting depth.
    Depth,
    /// The number of values.
    Values,
}

impl fmt::Display for ContentLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(f, "more than {MAX_FILE_BYTES} bytes"),
            Self::Depth => write!(f, "more than {MAX_DEPTH} levels of nesting"),
            Self::Values => write!(f, "more than {MAX_VALUES} values"),
        }
    }
}

/// The reason why a content cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedContent {
    /// The content exceeds a limit.
    #[error("the content has {0}")]
    LimitExceeded(ContentLimit),
    /// A field occurs twice. Two parsers could choose different values.
    #[error("the field `{}` occurs twice", .0.escape_debug())]
    DuplicateField(String),
    /// The content is not JSON.
    #[error("the content is not JSON: {0}")]
    NotJson(String),
}

/// The maximum length of a field name or an error in a message, in characters.
const MAX_QUOTED_CHARS: usize = 80;

pub(crate) fn truncate(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}

/// Parses a document.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, MalformedContent> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(MalformedContent::LimitExceeded(ContentLimit::Bytes));
    }
    let rejection = Cell::new(None);
    let limited = LimitedDeserializer {
        depth: 0,
        value_count: &Cell::new(0),
        rejection: &rejection,
    };
    let mut document = serde_json::Deserializer::from_slice(bytes);
    // An error of the deserializer is only text, so the cell has the reason if it was a refusal.
    let read = limited
        .deserialize(&mut document)
        .and_then(|value| document.end().map(|()| value));
    read.map_err(|error| {
        rejection
            .take()
            .unwrap_or_else(|| MalformedContent::NotJson(truncate(&error.to_string())))
    })
}

/// A deserializer of one value and all values inside it.
#[derive(Clone, Copy)]
struct LimitedDeserializer<'a> {
    depth: usize,
    value_count: &'a Cell<usize>,
    /// The reason of a refusal, because the errors of serde carry only text.
    rejection: &'a Cell<Option<MalformedContent>>,
}

impl LimitedDeserializer<'_> {
    fn reject<E: serde::de::Error>(&self, reason: MalformedContent) -> E {
        let error = E::custom(&reason);
        self.rejection.set(Some(reason));
        error
    }

    fn count_value<E: serde::de::Error>(&self) -> Result<(), E> {
        self.value_count.set(self.value_count.get() + 1);
        if self.value_count.get() > MAX_VALUES {
            return Err(self.reject(MalformedContent::LimitExceeded(ContentLimit::Values)));
        }
        Ok(())
    }

    fn nested<E: serde::de::Error>(&self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.reject(MalformedContent::LimitExceeded(ContentLimit::Depth)));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..*self
        })
    }
}

impl<'de> DeserializeSeed<'de> for LimitedDeserializer<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count_value()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LimitedDeserializer<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // JSON has no infinity, but an exponent such as 1e999 overflows to it, and a writer would turn it into null.
        let number = serde_json::Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("the number is out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.nested()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.nested()?;
        let mut values = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if values.contains_key(&name) {
                return Err(A::Error::custom(self.reject::<A::Error>(
                    MalformedContent::DuplicateField(truncate(&name)),
                )));
            }
            values.insert(name, fields.next_value_seed(inner)?);
        }
        Ok(Value::Object(values))
    }
}
