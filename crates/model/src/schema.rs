//! The common start of the OpenAPI schemas of enums, IDs and other strings.

use utoipa::openapi::schema::{ObjectBuilder, Type};

/// Returns the schema of a string with a description.
pub(crate) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
}
