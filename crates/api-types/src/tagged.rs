//! Unions of structs with a tag: one property that identifies the variant. Declares their types and schemas.

use utoipa::openapi::{
    RefOr,
    schema::{ObjectBuilder, Schema, Type},
};

/// Declares a union of structs. In JSON a value is the object of its struct, with the tag as one more property.
///
/// The schema is a `oneOf` of references with a discriminator and its mapping. Each variant gets a component of its
/// own, such as `TraceEventRun`, with the tag as a required property that has one value, so that client generators
/// make a type for each variant.
macro_rules! tagged_union {
    (
        $(#[$doc:meta])*
        $name:ident, $tag:literal, $description:literal {
            $($(#[$variant_doc:meta])* $variant:ident($type:ident) = $word:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = $tag)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant($type),)*
        }

        impl $name {
            /// Returns the value of the discriminator.
            pub const fn tag(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)*
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                use utoipa::openapi::{Ref, schema::{Discriminator, OneOfBuilder, Type}};
                let path = |name: &str| format!("#/components/schemas/{name}");
                let mapping = [$(($word, path(concat!(stringify!($name), stringify!($variant)))),)*];
                OneOfBuilder::new()
                    .schema_type(Type::Object)
                    .description(Some($description))
                    $(.item(Ref::from_schema_name(concat!(stringify!($name), stringify!($variant)))))*
                    .discriminator(Some(Discriminator::with_mapping($tag, mapping)))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>,
            ) {
                $(
                    let schema = <$type as utoipa::PartialSchema>::schema();
                    let name = concat!(stringify!($name), stringify!($variant)).to_owned();
                    schemas.push((name, $crate::tagged::with_tag(schema, $tag, $word)));
                    <$type as utoipa::ToSchema>::schemas(schemas);
                )*
            }
        }
    };
}

pub(crate) use tagged_union;

/// Adds the tag to the schema of a struct, as its first required property.
pub(crate) fn with_tag(schema: RefOr<Schema>, tag: &str, word: &str) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = schema else {
        return schema;
    };
    let word = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([word]))
        .build();
    object.properties.insert(tag.to_owned(), word.into());
    object.required.insert(0, tag.to_owned());
    RefOr::T(Schema::Object(object))
}
