//! The document that describes the API (`OpenAPI` 3.1), made of the routes themselves.

use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, Ref, RefOr, Response, ResponseBuilder,
        schema::{AdditionalProperties, Schema},
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};
use utoipa_axum::router::OpenApiRouter;

use crate::{Api, routes};

/// What stands at the head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Matins",
        description = include_str!("openapi.md"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(wire::Problem, wire::Notification)),
    modifiers(&Security),
)]
struct Head;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some("A token: `mat_` and 49 letters and digits.".to_owned());
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        let cookie = ApiKeyValue::with_description("matins", "A browser that has signed in.");
        components.add_security_scheme("browser", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// The routes with their document.
pub(crate) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(Head::openapi()).nest("/api/v1", routes::all())
}

/// The document.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = routes().split_for_parts().1;
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.patch,
        ];
        for operation in operations.into_iter().flatten() {
            let problem = RefOr::T(problem());
            operation
                .responses
                .responses
                .insert("default".to_owned(), problem);
        }
    }
    close_unions(&mut document);
    document
}

/// The kinds of what is asked for, of which each refuses fields that it does not know. Their schemas do not say
/// that by themselves.
const ASKED_UNIONS: [&str; 1] = ["TriggerRequest"];

fn close_unions(document: &mut utoipa::openapi::OpenApi) {
    let schemas = document.components.iter_mut();
    let schemas = schemas.flat_map(|components| &mut components.schemas);
    for (name, schema) in schemas {
        let RefOr::T(Schema::OneOf(union)) = schema else {
            continue;
        };
        if !ASKED_UNIONS.contains(&name.as_str()) {
            continue;
        }
        for kind in &mut union.items {
            if let RefOr::T(Schema::Object(kind)) = kind {
                kind.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            }
        }
    }
}

/// What every operation answers when it was not done.
fn problem() -> Response {
    let body = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new()
        .description("It was not done, and why")
        .content("application/problem+json", body)
        .build()
}
