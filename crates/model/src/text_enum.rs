//! Enums with one fixed word for each value, the same in the database, in JSON and on the command line.

/// The error for a text that is not one of an enum's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {what}: expected one of {accepted}", .given.escape_debug())]
pub struct UnknownWord {
    /// The rejected text, cut to 80 characters.
    pub given: String,
    /// The kind of value that was expected, with its article: `a role`.
    pub what: &'static str,
    /// The accepted words, separated by commas.
    pub accepted: String,
}

macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the word of the value.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::text_enum::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    $crate::text_enum::UnknownWord {
                        given: text.chars().take(80).collect(),
                        what: $what,
                        accepted: [$($word,)*].join(", "),
                    }
                })
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::schema::text(concat!("One word for ", $what, "."))
                    .enum_values(Some([$($word,)*]))
                    .into()
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use text_enum;
