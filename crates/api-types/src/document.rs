//! The macro `document!`, which declares a configuration document of the API: its response, its request, its patch,
//! and the conversions between them and the domain.
//!
//! ```text
//! domain ──From──▶ response      every field is present; clients ignore unknown keys
//! domain ◀─From──▶ request       every field has a default; unknown keys are refused
//!                  patch         every field is optional and nullable (merge patch, RFC 7396)
//! ```
//!
//! Each conversion destructures its source, so that a new field of the domain fails to compile until the document
//! names it. To add a scalar field, add one line to the document.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field of a merge patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The patch does not have the field, so the field keeps its value.
    #[default]
    Keep,
    /// The patch has null, so the field gets its default.
    Reset,
    /// The patch has this value.
    To(T),
}

impl<T> Change<T> {
    pub(crate) const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // `Keep` cannot be written as a value. Every field of a patch skips it with `skip_serializing_if`.
            Self::Keep | Self::Reset => serializer.serialize_none(),
            Self::To(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(value.map_or(Self::Reset, Self::To))
    }
}

/// Declares a document: `domain => response, request, patch { field: type; ... }`.
///
/// If the field's types in the three documents differ, the line lists them in the same order: `retry: Retry =>
/// RetryRequest, RetryPatch;`. With `each` the conversion maps an `Option`. The patch wraps its type in [`Change`].
macro_rules! document {
    (@into $value:ident) => { $value.into() };
    (@each $value:ident) => { $value.map(Into::into) };

    (@fields $head:tt [$($done:tt)*]
        $(#[$meta:meta])* $field:ident: $type:ty => each $request:ty, $patch:ty; $($rest:tt)*
    ) => {
        $crate::document::document! {
            @fields $head [$($done)* { [$(#[$meta])*] $field ($type) ($request) ($patch) (each) }] $($rest)*
        }
    };
    (@fields $head:tt [$($done:tt)*]
        $(#[$meta:meta])* $field:ident: $type:ty => $request:ty, $patch:ty; $($rest:tt)*
    ) => {
        $crate::document::document! {
            @fields $head [$($done)* { [$(#[$meta])*] $field ($type) ($request) ($patch) (into) }] $($rest)*
        }
    };
    (@fields $head:tt [$($done:tt)*] $(#[$meta:meta])* $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::document::document! {
            @fields $head [$($done)* { [$(#[$meta])*] $field ($type) ($type) ($type) (into) }] $($rest)*
        }
    };

    (@fields { [$(#[$meta:meta])*] ($domain:ty) $Response:ident $Request:ident $Patch:ident }
        [$({ [$(#[$field_meta:meta])*] $field:ident ($type:ty) ($request:ty) ($patch:ty) ($how:ident) })*]
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(default)]
        pub struct $Response {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schema(default)]
        pub struct $Request {
            $($(#[$field_meta])* pub $field: $request,)*
        }

        $(#[$meta])*
        ///
        /// A field that is absent keeps its value, and null restores the default of the field.
        #[derive(
            Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        #[serde(default, deny_unknown_fields)]
        pub struct $Patch {
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "crate::Change::is_keep")]
                #[schema(value_type = Option<$patch>)]
                pub $field: $crate::Change<$patch>,
            )*
        }

        impl From<$domain> for $Response {
            fn from(domain: $domain) -> Self {
                type Domain = $domain;
                let Domain { $($field,)* } = domain;
                Self { $($field: $crate::document::document!(@$how $field),)* }
            }
        }

        impl From<$Response> for $domain {
            fn from(response: $Response) -> Self {
                let $Response { $($field,)* } = response;
                Self { $($field: $crate::document::document!(@$how $field),)* }
            }
        }

        impl From<$domain> for $Request {
            fn from(domain: $domain) -> Self {
                type Domain = $domain;
                let Domain { $($field,)* } = domain;
                Self { $($field: $crate::document::document!(@$how $field),)* }
            }
        }

        impl From<$Request> for $domain {
            fn from(request: $Request) -> Self {
                let $Request { $($field,)* } = request;
                Self { $($field: $crate::document::document!(@$how $field),)* }
            }
        }

        impl Default for $Response {
            fn default() -> Self {
                <$domain>::default().into()
            }
        }

        impl Default for $Request {
            fn default() -> Self {
                <$domain>::default().into()
            }
        }
    };

    ($(#[$meta:meta])* $domain:ty => $Response:ident, $Request:ident, $Patch:ident { $($fields:tt)* }) => {
        $crate::document::document! {
            @fields { [$(#[$meta])*] ($domain) $Response $Request $Patch } [] $($fields)*
        }
    };
}

/// Implements both conversions between two types that have fields with the same names and types.
macro_rules! same_fields {
    ($($one:ty, $other:ty { $($field:ident),* })*) => {$(
        impl From<$one> for $other {
            fn from(one: $one) -> Self {
                type One = $one;
                let One { $($field,)* } = one;
                Self { $($field,)* }
            }
        }

        impl From<$other> for $one {
            fn from(other: $other) -> Self {
                type Other = $other;
                let Other { $($field,)* } = other;
                Self { $($field,)* }
            }
        }
    )*};
}

pub(crate) use document;
pub(crate) use same_fields;
