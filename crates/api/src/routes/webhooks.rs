//! Incoming webhooks that fire triggers, and the secrets that sign them.

use api_types::{ProblemKind, ReceivedWebhook, RotationRequest, SecretRotated, WebhookSecret};
use axum::{
    Json as Answer,
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use model::access::Permission;
use service::WebhookError;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, ObjectBuilder, RefOr, SchemaFormat,
        schema::{Schema, Type},
    },
};

use super::notifications::overlap;
use crate::{
    Api,
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{self, OptionalJson, Path},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(receive_webhook))
        .routes(routes!(show_webhook_secret))
        .routes(routes!(rotate_webhook_secret))
}

/// The schema of the body of a webhook in the API document. The handler reads the raw body, because the signature
/// covers its bytes.
struct Payload;

impl PartialSchema for Payload {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            .into()
    }
}

impl ToSchema for Payload {}

/// Receive a webhook
///
/// Fires a trigger of the kind `webhook`. The request must be signed with the secret of the trigger, as Standard
/// Webhooks defines it: `webhook-id`, `webhook-timestamp` within five minutes of the server's clock, and
/// `webhook-signature`. A request with the `webhook-id` of an earlier one creates no run and returns the earlier run.
/// The agent gets the body as untrusted data. Returns 401 for an invalid signature, also if the trigger does not
/// exist, and 413 for a body of more than 64 KiB.
#[utoipa::path(
    post,
    path = "/webhooks/{trigger}",
    tag = "triggers",
    params(
        ("trigger" = String, Path, description = "The ID of the trigger"),
        ("webhook-id" = String, Header, description = "The ID of the message, the same for each repetition"),
        ("webhook-timestamp" = String, Header, description = "The seconds since 1970 at which the request was signed"),
        ("webhook-signature" = String, Header, description = "One or more signatures, each with the prefix `v1,`, separated by spaces")
    ),
    request_body(content = inline(Payload), content_type = "application/octet-stream", description = "Any text in UTF-8, up to 64 KiB"),
    responses((status = ACCEPTED, description = "The run", body = ReceivedWebhook)),
    security(())
)]
async fn receive_webhook(
    State(api): State<Api>,
    Path([trigger]): Path<1>,
    request: Request,
) -> Result<(StatusCode, Answer<ReceivedWebhook>), ApiError> {
    // There is no `Caller`: the signature authenticates the request. `receive_webhook` checks the signature before it
    // parses the body, and answers an unknown trigger like a wrong signature, so that a stranger learns nothing.
    let headers = request.headers().clone();
    let body = extract::read_body(request, extract::MAX_BODY_BYTES).await?;
    let now = api.shared.clock.now();
    let store = &api.shared.store;
    let received = service::receive_webhook(store, &trigger, &headers, &body, now).await;
    let received = received.map_err(|error| match error {
        WebhookError::Refused(refusal) => ApiError::new(
            ProblemKind::Unauthenticated,
            StatusCode::UNAUTHORIZED,
            refusal.to_string(),
        ),
        WebhookError::TooLong => ApiError::new(
            ProblemKind::Invalid,
            StatusCode::PAYLOAD_TOO_LARGE,
            error.to_string(),
        ),
        WebhookError::NotText => ApiError::malformed(error.to_string()),
        WebhookError::Store(error) => error.into(),
    })?;
    (api.shared.wake_loops)();
    Ok((StatusCode::ACCEPTED, Answer(received)))
}

/// Show the secret of a webhook trigger
///
/// Returns the current secret, with which senders sign requests to the trigger, and the path for these requests.
#[utoipa::path(
    get,
    path = "/automations/{automation}/triggers/{trigger}/secret",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = "The name of the automation, its ID, or the beginning of its ID"),
        ("trigger" = String, Path, description = "The ID of the trigger or the beginning of its ID")
    ),
    responses((status = OK, description = "The secret", body = WebhookSecret)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
async fn show_webhook_secret(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
) -> Result<Answer<WebhookSecret>, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let secret = service.webhook_secret(&automation, &trigger).await?;
    let id = service.trigger(&automation, &trigger).await?.id;
    Ok(Answer(WebhookSecret {
        secret,
        path: format!("/api/v1/webhooks/{id}"),
    }))
}

/// Rotate the secret of a webhook trigger
///
/// Creates a new secret and returns it. The previous secret stays valid for `overlap_seconds`. A request that is
/// repeated with the same `Idempotency-Key` creates no other secret and returns none: read the current one from
/// `secret`.
#[utoipa::path(
    post,
    path = "/automations/{automation}/triggers/{trigger}/rotate-secret",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = "The name of the automation, its ID, or the beginning of its ID"),
        ("trigger" = String, Path, description = "The ID of the trigger or the beginning of its ID"),
        IdempotencyKey
    ),
    request_body(content = Option<RotationRequest>, description = "The time for which the previous secret stays valid"),
    responses((status = OK, description = "The new secret", body = SecretRotated)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
async fn rotate_webhook_secret(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
    idempotency_key: IdempotencyKey,
    OptionalJson(rotation): OptionalJson<RotationRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let overlap = overlap(rotation)?;
    let rotated = idempotency_key.rotate(&caller, rotation, async |key| {
        let rotated = service.rotate_webhook_secret(&automation, &trigger, overlap, key);
        Ok(rotated.await?)
    });
    rotated.await
}
