//! Endpoints that receive notifications, and the deliveries to them.

use std::time::Duration;

use api_types::{
    Delivery, DeliveryView, Endpoint, EndpointCreated, EndpointRequest, MAX_OVERLAP_SECONDS, Page,
    RotationRequest, SecretRotated,
};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{DeliveryId, EndpointId, access::Permission, notification};
use serde::Deserialize;
use utoipa::IntoParams;

use super::list_params;
use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, OptionalJson, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The description of the path parameter that names an endpoint.
const ENDPOINT_PARAM_DESCRIPTION: &str = "The name or the ID of the endpoint";

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_endpoints, create_endpoint))
        .routes(routes!(show_endpoint, replace_endpoint, delete_endpoint))
        .routes(routes!(rotate_endpoint_secret))
        .routes(routes!(enable_endpoint))
        .routes(routes!(disable_endpoint))
        .routes(routes!(test_endpoint))
        .routes(routes!(list_deliveries))
        .routes(routes!(show_delivery))
        .routes(routes!(redeliver))
}

/// List endpoints
///
/// Returns all endpoints on one page, in the order of their names, without their secrets.
#[utoipa::path(
    get,
    path = "/endpoints",
    tag = "notifications",
    responses((status = OK, description = "All endpoints on one page", body = Page<Endpoint>)),
    security(("token" = ["notifications:read"]), ("browser" = []))
)]
async fn list_endpoints(caller: Caller) -> Result<Answer<Page<Endpoint>>, ApiError> {
    let service = caller.authorize(Permission::NotificationsRead)?;
    Ok(Answer(
        Page::whole(service.endpoints().await?).map(Into::into),
    ))
}

/// Create an endpoint
///
/// Creates an endpoint. The server sends it each later notification of the chosen `events` as a signed request
/// (Standard Webhooks), and retries a failed delivery with pauses that double. The response contains the secret,
/// which no later response contains.
#[utoipa::path(
    post,
    path = "/endpoints",
    tag = "notifications",
    params(IdempotencyKey),
    request_body = EndpointRequest,
    responses((status = CREATED, description = "The endpoint with its secret", body = EndpointCreated)),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn create_endpoint(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<EndpointRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(EndpointId::from_uuid);
        let created = service.create_endpoint(&request.value, id).await?;
        Ok((StatusCode::CREATED, created))
    });
    created.await
}

/// Show an endpoint
///
/// Returns one endpoint, without its secret.
#[utoipa::path(
    get,
    path = "/endpoints/{endpoint}",
    tag = "notifications",
    params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The endpoint",
        body = Endpoint,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["notifications:read"]), ("browser" = []))
)]
async fn show_endpoint(
    caller: Caller,
    Path([endpoint]): Path<1>,
) -> Result<(ETag, Answer<Endpoint>), ApiError> {
    let service = caller.authorize(Permission::NotificationsRead)?;
    let found = service.endpoint(&endpoint).await?;
    Ok((etag::header(&editable(&found)), Answer(found.into())))
}

/// Replace an endpoint
///
/// Replaces the definition of an endpoint and keeps its secret. Pending deliveries go to the new address. Returns 412
/// if the endpoint is no longer the one that the `ETag` in `If-Match` describes, or changes while the server replaces
/// it.
#[utoipa::path(
    put,
    path = "/endpoints/{endpoint}",
    tag = "notifications",
    params(
        ("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = EndpointRequest,
    responses((
        status = OK,
        description = "The endpoint",
        body = Endpoint,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn replace_endpoint(
    caller: Caller,
    Path([endpoint]): Path<1>,
    seen: IfMatch,
    request: Json<EndpointRequest>,
) -> Result<(ETag, Answer<Endpoint>), ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    let before = service.endpoint(&endpoint).await?;
    seen.check("the endpoint", &editable(&before))?;
    let edited = service.edit_endpoint(&before, &request.value).await?;
    Ok((etag::header(&editable(&edited)), Answer(edited.into())))
}

/// Returns the part of an endpoint that a request can change, from which the entity tag is computed.
fn editable(endpoint: &notification::Endpoint) -> EndpointRequest {
    EndpointRequest {
        name: endpoint.name.clone(),
        url: endpoint.url.clone(),
        events: endpoint.events.clone(),
        automation: endpoint.automation_id.map(|id| id.to_string()),
        channel: endpoint.channel.clone(),
    }
}

/// Delete an endpoint
///
/// Deletes an endpoint with all its deliveries, also pending ones, and returns the endpoint as it was.
#[utoipa::path(
    delete,
    path = "/endpoints/{endpoint}",
    tag = "notifications",
    params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The endpoint as it was", body = Endpoint)),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn delete_endpoint(
    caller: Caller,
    Path([endpoint]): Path<1>,
) -> Result<Answer<Endpoint>, ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    Ok(Answer(service.delete_endpoint(&endpoint).await?.into()))
}

/// Rotate the secret of an endpoint
///
/// Creates a new secret and returns it. No later response contains it. For `overlap_seconds` the server signs each
/// request with the previous secret as well.
#[utoipa::path(
    post,
    path = "/endpoints/{endpoint}/rotate-secret",
    tag = "notifications",
    params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION), IdempotencyKey),
    request_body(content = Option<RotationRequest>, description = "The time for which the previous secret stays valid"),
    responses((status = OK, description = "The new secret", body = SecretRotated)),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn rotate_endpoint_secret(
    caller: Caller,
    Path([endpoint]): Path<1>,
    idempotency_key: IdempotencyKey,
    OptionalJson(rotation): OptionalJson<RotationRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    let overlap = overlap(rotation)?;
    let rotated = idempotency_key.rotate(&caller, rotation, async |key| {
        let rotated = service.rotate_endpoint_secret(&endpoint, overlap, key);
        Ok(rotated.await?)
    });
    rotated.await
}

/// Returns the time for which the previous secret stays valid beside the new one.
///
/// # Errors
///
/// Returns 400 if it is longer than [`MAX_OVERLAP_SECONDS`].
pub(super) fn overlap(rotation: RotationRequest) -> Result<Duration, ApiError> {
    let seconds = rotation.overlap_seconds;
    if seconds > MAX_OVERLAP_SECONDS {
        let detail =
            format!("invalid `overlap_seconds` {seconds}: accepted are 0 to {MAX_OVERLAP_SECONDS}");
        return Err(ApiError::malformed(detail).field("overlap_seconds"));
    }
    Ok(Duration::from_secs(seconds.into()))
}

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "notifications",
            params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION)),
            responses((status = OK, description = "The endpoint", body = Endpoint)),
            security(("token" = ["notifications:write"]), ("browser" = []))
        )]
        async fn $name(
            caller: Caller,
            Path([endpoint]): Path<1>,
        ) -> Result<Answer<Endpoint>, ApiError> {
            let service = caller.authorize(Permission::NotificationsWrite)?;
            Ok(Answer(service.$name(&endpoint).await?.into()))
        }
    )*};
}

moves! {
    /// Enable an endpoint
    ///
    /// Enables an endpoint. The server sends it each later notification, and none from the time while it was
    /// disabled.
    enable_endpoint = "/endpoints/{endpoint}/enable";
    /// Disable an endpoint
    ///
    /// Disables an endpoint. The server sends it no more notifications, and its pending deliveries fail.
    disable_endpoint = "/endpoints/{endpoint}/disable";
}

/// Test an endpoint
///
/// Queues a notification of the kind `endpoint.test`, which endpoints need not choose, and returns its delivery. Read
/// the delivery again to see whether it has arrived.
#[utoipa::path(
    post,
    path = "/endpoints/{endpoint}/test",
    tag = "notifications",
    params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION), IdempotencyKey),
    responses((status = ACCEPTED, description = "The delivery", body = DeliveryView)),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn test_endpoint(
    caller: Caller,
    Path([endpoint]): Path<1>,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    let sent = idempotency_key.create_with_body(&caller, &[], async |id| {
        let id = id.map(DeliveryId::from_uuid);
        let view = service.test_endpoint(&endpoint, id).await?;
        caller.wake_loops();
        Ok((StatusCode::ACCEPTED, view))
    });
    sent.await
}

/// The query parameters of the list of deliveries.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListDeliveriesParams {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::DeliveryId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the deliveries of an endpoint
///
/// Returns the deliveries of an endpoint, the newest first.
#[utoipa::path(
    get,
    path = "/endpoints/{endpoint}/deliveries",
    tag = "notifications",
    params(("endpoint" = String, Path, description = ENDPOINT_PARAM_DESCRIPTION), ListDeliveriesParams),
    responses((status = OK, description = "A page of deliveries", body = Page<Delivery>)),
    security(("token" = ["notifications:read"]), ("browser" = []))
)]
async fn list_deliveries(
    caller: Caller,
    Path([endpoint]): Path<1>,
    Query(part): Query<ListDeliveriesParams>,
) -> Result<Answer<Page<Delivery>>, ApiError> {
    let service = caller.authorize(Permission::NotificationsRead)?;
    let after = list_params::parse_cursor(part.after.as_deref())?;
    let limit = list_params::page_limit(part.limit)?;
    let page = service.deliveries(&endpoint, after, limit).await?;
    Ok(Answer(page.map(Into::into)))
}

/// Show a delivery
///
/// Returns one delivery with the log of its attempts.
#[utoipa::path(
    get,
    path = "/deliveries/{delivery}",
    tag = "notifications",
    params(("delivery" = String, Path, description = "The ID of the delivery")),
    responses((status = OK, description = "The delivery", body = DeliveryView)),
    security(("token" = ["notifications:read"]), ("browser" = []))
)]
async fn show_delivery(
    caller: Caller,
    Path([delivery]): Path<1>,
) -> Result<Answer<DeliveryView>, ApiError> {
    let service = caller.authorize(Permission::NotificationsRead)?;
    Ok(Answer(service.delivery(&delivery).await?))
}

/// Deliver a notification again
///
/// Queues a finished delivery again, with the same ID and the same body. Returns 409 if the delivery is still
/// pending; with an `Idempotency-Key`, returns the pending delivery instead.
#[utoipa::path(
    post,
    path = "/deliveries/{delivery}/redeliver",
    tag = "notifications",
    params(("delivery" = String, Path, description = "The ID of the delivery"), IdempotencyKey),
    responses((status = ACCEPTED, description = "The delivery", body = DeliveryView)),
    security(("token" = ["notifications:write"]), ("browser" = []))
)]
async fn redeliver(
    caller: Caller,
    Path([delivery]): Path<1>,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::NotificationsWrite)?;
    // This operation creates no row, so that the store cannot recognize a repeated request by a reserved ID. With a
    // key, a pending delivery counts as the result of the first request; a 409 would hide that it succeeded.
    let sent = idempotency_key.create_with_body(&caller, &[], async |id| {
        let view = match id {
            Some(_) => service.redeliver_idempotently(&delivery).await?,
            None => service.redeliver(&delivery).await?,
        };
        caller.wake_loops();
        Ok((StatusCode::ACCEPTED, view))
    });
    sent.await
}
