//! What the schemas of fixed words, ids and other texts have in common.

use utoipa::openapi::schema::{ObjectBuilder, Type};

/// The schema of a text.
pub(crate) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
}
