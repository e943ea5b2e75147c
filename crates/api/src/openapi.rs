//! The document of the API (`OpenAPI` 3.1), generated from the annotations of the routes and of the types in
//! [`api_types`].
//!
//! The generated document is not complete enough for client generators. One module each corrects it:
//! [`error_responses`], [`numbers`], [`page_schemas`], [`unions`], [`examples`] and [`fields`].

mod error_responses;
mod examples;
mod fields;
mod numbers;
mod page_schemas;
mod unions;
mod walk;

use serde_json::{Value, json};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
};

use self::walk::SCHEMA_REF_PREFIX;
use crate::routes;

/// The path before that of each operation.
pub(crate) const API_PREFIX: &str = "/api/v1";

/// The head of the document: title, tags and security schemes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Matins",
        description = include_str!("openapi.md"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "The server that serves this document")),
    tags(
        (name = "access", description = "Tenants, tokens, and browsers that sign in."),
        (name = "approvals", description = "Permission requests of agents, and the decisions of people."),
        (name = "artifacts", description = "Files and addresses that agents hand in."),
        (name = "automations", description = "Prompts that triggers fire, with their policies."),
        (name = "agents", description = "The command lines that start agents."),
        (name = "goals", description = "Goals on which teams of agents work, and their tasks."),
        (name = "instances", description = "The data folders in which agents run and keep their files."),
        (name = "memory", description = "Facts that agents keep for later turns, and that people read and edit."),
        (name = "notifications", description = "Endpoints that receive signed notifications, and their deliveries."),
        (name = "overview", description = "What ran, what failed, what waits and what comes next, of all automations together."),
        (name = "questions", description = "Questions of agents, and the answers of people."),
        (name = "runs", description = "Attempts at inputs, with their outcomes."),
        (name = "server", description = "The server itself."),
        (name = "sessions", description = "Conversations with agents: messages, seats and transcripts."),
        (name = "traces", description = "Live streams of events."),
        (name = "triggers", description = "The conditions that fire automations."),
    ),
    components(schemas(api_types::Problem, api_types::Notification)),
    modifiers(&Security),
)]
struct Head;

/// Adds the two ways to authenticate: a bearer token, and the cookie of a browser.
struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some("A token: `mat_` and 49 letters and digits.".to_owned());
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        let cookie = ApiKeyValue::with_description("matins", "The cookie of a signed-in browser.");
        components.add_security_scheme("browser", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// Returns the complete document.
///
/// It omits the operations of runtimes (`routes::runtime`): they are a protocol between two programs of Matins with
/// versions of its own, and no token of a person may call them.
pub fn document() -> Value {
    let described = routes::all().describe(API_PREFIX, Head::openapi());
    let mut document = serde_json::to_value(described).unwrap_or_default();
    error_responses::describe(&mut document);
    numbers::widen(&mut document);
    page_schemas::rename_pages(&mut document);
    unions::add_discriminators(&mut document);
    // Add the examples before `fields` removes the defaults of responses, because an example shows the default of a
    // field.
    examples::add(&mut document);
    fields::describe(&mut document);
    document["webhooks"] = webhooks();
    document
}

/// Returns the `webhooks` of the document: the requests that the server sends to endpoints.
fn webhooks() -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": { "type": "string" },
        })
    };
    json!({
        "notification": {
            "post": {
                "operationId": "receive_notification",
                "summary": "Receive a notification",
                "description": "The server sends this request to each endpoint that chose the notification, signed according to \
                    Standard Webhooks. It repeats the request until the endpoint responds with a status from 200 to 299.",
                "tags": ["notifications"],
                "security": [],
                "parameters": [
                    header("webhook-id", "The ID of the delivery. It stays the same when the server repeats the request."),
                    header("webhook-timestamp", "The seconds since 1970 at which the request was signed."),
                    header("webhook-signature", "One signature for each valid secret, separated by spaces."),
                ],
                "requestBody": {
                    "required": true,
                    "content": { "application/json": { "schema": { "$ref": format!("{SCHEMA_REF_PREFIX}Notification") } } },
                },
                "responses": {
                    "2XX": { "description": "The notification was received." },
                    "4XX": { "description": "The notification was not received." },
                },
            },
        },
    })
}
