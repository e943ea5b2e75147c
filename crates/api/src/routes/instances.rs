//! Instances: the folders in which agents run and keep their files.

use api_types::{Instance, InstanceCheck, InstanceRequest, Page, RuntimeToken};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{InstanceId, access::Permission};

use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{Json, Path},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_instances, add_instance))
        .routes(routes!(show_instance, remove_instance))
        .routes(routes!(check_instance))
        .routes(routes!(rotate_runtime_token))
}

/// List instances
///
/// Returns all instances on one page, in the order of their names. An instance is a folder in which agents run and keep
/// their files: the data folder of a server, or a folder that a runtime watches.
#[utoipa::path(
    get,
    path = "/instances",
    tag = "instances",
    responses((status = OK, description = "All instances on one page", body = Page<Instance>)),
    security(("token" = ["instances:read"]), ("browser" = []))
)]
async fn list_instances(caller: Caller) -> Result<Answer<Page<Instance>>, ApiError> {
    let service = caller.authorize(Permission::InstancesRead)?;
    Ok(Answer(Page::whole(service.instances().await?)))
}

/// Add an instance
///
/// Adds an instance with a folder, and a token for its runtime. Runs that are placed on the instance are written into the
/// folder as trigger files. `matins runtime` watches the folder and takes the turns there. No later response contains the
/// secret of the token.
#[utoipa::path(
    post,
    path = "/instances",
    tag = "instances",
    params(IdempotencyKey),
    request_body = InstanceRequest,
    responses((status = CREATED, description = "The instance, and the token of its runtime", body = RuntimeToken)),
    security(("token" = ["instances:write"]), ("browser" = []))
)]
async fn add_instance(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<InstanceRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::InstancesWrite)?;
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(InstanceId::from_uuid);
        let made_by = caller.token.as_ref().map(|token| token.id);
        let added = service.add_instance(&request.value, made_by, id).await?;
        Ok((StatusCode::CREATED, added))
    });
    created.await
}

/// Check an instance
///
/// Checks that the server can write into the folder of an instance, that the clocks of folder and server agree, and that a
/// runtime of a suitable version watches the folder. Each finding says what to mend. The folder is written to and left as it
/// was.
#[utoipa::path(
    post,
    path = "/instances/{instance}/check",
    tag = "instances",
    params(("instance" = String, Path, description = "The ID or the name of the instance")),
    responses((status = OK, description = "The findings", body = InstanceCheck)),
    security(("token" = ["instances:write"]), ("browser" = []))
)]
async fn check_instance(
    caller: Caller,
    Path([instance]): Path<1>,
) -> Result<Answer<InstanceCheck>, ApiError> {
    let service = caller.authorize(Permission::InstancesWrite)?;
    Ok(Answer(service.check_instance(&instance).await?))
}

/// Rotate the token of a runtime
///
/// Replaces the token of the runtime of an instance. The earlier token is invalid from then on, so that a runtime which
/// still uses it is refused. No later response contains the secret of the new token.
#[utoipa::path(
    post,
    path = "/instances/{instance}/token",
    tag = "instances",
    params(("instance" = String, Path, description = "The ID or the name of the instance")),
    responses((status = OK, description = "The instance, and its new token", body = RuntimeToken)),
    security(("token" = ["instances:write"]), ("browser" = []))
)]
async fn rotate_runtime_token(
    caller: Caller,
    Path([instance]): Path<1>,
) -> Result<Answer<RuntimeToken>, ApiError> {
    let service = caller.authorize(Permission::InstancesWrite)?;
    let made_by = caller.token.as_ref().map(|token| token.id);
    let rotated = service.rotate_runtime_token(&instance, made_by).await?;
    Ok(Answer(rotated))
}

/// Show an instance
///
/// Returns one instance, with the server or runtime that serves it now or did last.
#[utoipa::path(
    get,
    path = "/instances/{instance}",
    tag = "instances",
    params(("instance" = String, Path, description = "The ID or the name of the instance")),
    responses((status = OK, description = "The instance", body = Instance)),
    security(("token" = ["instances:read"]), ("browser" = []))
)]
async fn show_instance(
    caller: Caller,
    Path([instance]): Path<1>,
) -> Result<Answer<Instance>, ApiError> {
    let service = caller.authorize(Permission::InstancesRead)?;
    Ok(Answer(service.instance(&instance).await?))
}

/// Remove an instance
///
/// Removes an instance, such as one whose data folder is lost. The memory of its agents counts as lost: runs that
/// wait for the instance fail, and so does each later turn of the same seats. Transcripts stay. Returns 409 while a
/// server or a runtime serves the instance. The token of a runtime is revoked. A host exists again as soon as a server
/// serves its data folder.
#[utoipa::path(
    delete,
    path = "/instances/{instance}",
    tag = "instances",
    params(("instance" = String, Path, description = "The ID or the name of the instance")),
    responses((status = OK, description = "The instance as it was", body = Instance)),
    security(("token" = ["instances:write"]), ("browser" = []))
)]
async fn remove_instance(
    caller: Caller,
    Path([instance]): Path<1>,
) -> Result<Answer<Instance>, ApiError> {
    let service = caller.authorize(Permission::InstancesWrite)?;
    let removed = service.remove_instance(&instance).await?;
    caller.wake_loops();
    Ok(Answer(removed))
}
