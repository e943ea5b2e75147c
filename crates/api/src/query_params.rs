//! Deserialization of query parameters, whose values are texts that may stand for numbers and booleans.
//!
//! The errors name the accepted values, because they become the text of a 400.

use std::{
    collections::BTreeMap,
    num::{IntErrorKind, ParseIntError},
    str::FromStr,
};

use serde::{
    Deserializer,
    de::{
        Error as _, IntoDeserializer, Visitor,
        value::{Error, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

/// Returns a deserializer for the pairs of a query. A parameter of a list may occur several times, and each of its
/// values is an item.
pub(crate) fn deserializer(
    pairs: &[(String, String)],
) -> MapDeserializer<'_, impl Iterator<Item = (&str, QueryValue<'_>)>, Error> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in pairs {
        values.entry(name).or_default().push(value);
    }
    let values = values.into_iter();
    MapDeserializer::new(values.map(|(name, values)| (name, QueryValue(values))))
}

/// The values of one parameter, one for each time that it occurs.
pub(crate) struct QueryValue<'a>(Vec<&'a str>);

impl<'a> QueryValue<'a> {
    /// Returns the value of a parameter that may occur once.
    fn single(&self) -> Result<&'a str, Error> {
        match self.0[..] {
            [value] => Ok(value),
            _ => Err(Error::custom("accepted is one value, not several")),
        }
    }

    /// Parses a whole number. `least` completes the error with the lower bound, such as `, 0 or more`.
    fn parse_number<T: FromStr<Err = ParseIntError>>(&self, least: &str) -> Result<T, Error> {
        self.single()?.parse().map_err(|error: ParseIntError| {
            Error::custom(match error.kind() {
                IntErrorKind::PosOverflow => "accepted is a smaller number".to_owned(),
                _ => format!("accepted is a whole number{least}"),
            })
        })
    }
}

impl<'de> IntoDeserializer<'de, Error> for QueryValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $least:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.parse_number($least)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for QueryValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.single()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.single()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(Error::custom("accepted are true and false")),
        }
    }

    numbers! {
        deserialize_u32 visit_u32 ", 0 or more"
        deserialize_u64 visit_u64 ", 0 or more"
        deserialize_i32 visit_i32 ""
        deserialize_i64 visit_i64 ""
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items = self.0.into_iter().map(|value| QueryValue(vec![value]));
        visitor.visit_seq(SeqDeserializer::new(items))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
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
        let text: serde::de::value::StrDeserializer<'de, Error> =
            self.single()?.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct
        map struct identifier ignored_any
    }
}
