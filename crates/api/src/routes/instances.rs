//! Instances: the data folders in which agents run and keep their files.

use api_types::{Instance, Page};
use axum::Json;
use model::access::Permission;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{Api, caller::Caller, extract::Path, problem::ApiError};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_instances))
        .routes(routes!(show_instance, remove_instance))
}

/// List instances
///
/// Returns all instances on one page, in the order of their names. An instance is a data folder in which agents run
/// and keep their files.
#[utoipa::path(
    get,
    path = "/instances",
    tag = "instances",
    responses((status = OK, description = "All instances on one page", body = Page<Instance>)),
    security(("token" = ["instances:read"]), ("browser" = []))
)]
async fn list_instances(caller: Caller) -> Result<Json<Page<Instance>>, ApiError> {
    let service = caller.authorize(Permission::InstancesRead)?;
    Ok(Json(Page::whole(service.instances().await?)))
}

/// Show an instance
///
/// Returns one instance, with the server that serves it now or did last.
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
) -> Result<Json<Instance>, ApiError> {
    let service = caller.authorize(Permission::InstancesRead)?;
    Ok(Json(service.instance(&instance).await?))
}

/// Remove an instance
///
/// Removes an instance, such as one whose data folder is lost. The memory of its agents counts as lost: runs that
/// wait for the instance fail, and so does each later turn of the same seats. Transcripts stay. Returns 409 while a
/// server serves the instance. The instance exists again as soon as a server serves its data folder.
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
) -> Result<Json<Instance>, ApiError> {
    let service = caller.authorize(Permission::InstancesWrite)?;
    let removed = service.remove_instance(&instance).await?;
    caller.wake_loops();
    Ok(Json(removed))
}
