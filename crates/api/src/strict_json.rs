//! A deserializer of JSON that accepts only the forms that the API document describes.

use serde::{
    Deserializer,
    de::{
        Error as _, IntoDeserializer, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Value};

/// A JSON value whose structs must be objects. The code that serde derives for a struct also accepts a list of its
/// values in the order of the fields, which is an internal detail: a request in that form would break when a field
/// moves.
pub(crate) struct StrictJson(pub(crate) Value);

impl<'de> Deserializer<'de> for StrictJson {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Self));
                let taken = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(taken)
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, Self(value)));
                let mut fields = MapDeserializer::new(fields);
                let taken = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(taken)
            }
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(Error::custom("expected an object")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, Error> for StrictJson {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Inner {
        number: Option<u8>,
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Outer {
        inner: Option<Inner>,
        many: Vec<Inner>,
        word: Word,
    }

    #[test]
    fn struct_from_non_object_is_refused() {
        let whole =
            json!({ "inner": { "number": 1 }, "many": [{ "number": null }], "word": "one" });
        let read = Outer::deserialize(StrictJson(whole)).unwrap();
        let inner = |number| Inner { number };
        assert_eq!(read.inner, Some(inner(Some(1))));
        assert_eq!(read.many, [inner(None)]);
        assert_eq!(read.word, Word::One);
        for refused in [
            json!([null, [], "one"]),
            json!({ "inner": [1], "many": [], "word": "one" }),
            json!({ "inner": null, "many": [[1]], "word": "one" }),
            json!({ "inner": null, "many": {}, "word": "one" }),
            json!({ "inner": null, "many": [], "word": ["one"] }),
        ] {
            Outer::deserialize(StrictJson(refused)).unwrap_err();
        }
    }
}
