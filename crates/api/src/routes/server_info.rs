//! The server itself, and the identity of the caller.

use api_types::{ServerInfo, Whoami};
use axum::Json;

use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    problem::ApiError,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(show_server))
        .routes(routes!(show_caller))
}

/// Show the server
///
/// Returns the version and the clock of the server, whether it fires triggers and takes turns, and whether it is in
/// unified mode.
#[utoipa::path(
    get,
    path = "/server",
    tag = "server",
    responses((status = OK, description = "The server", body = ServerInfo)),
    security(("token" = []), ("browser" = []))
)]
async fn show_server(caller: Caller) -> Json<ServerInfo> {
    Json(ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        serves: caller.api.shared.has_worker_loops,
        now: caller.now(),
        unified_session: caller.api.shared.unified,
    })
}

/// Show the caller
///
/// Returns the tenant, the role and the permissions of the caller. The caller is the owner of the token or the cookie
/// that the request shows, or an admin if the request came over the private socket of the data folder.
#[utoipa::path(
    get,
    path = "/whoami",
    tag = "access",
    responses((status = OK, description = "The caller", body = Whoami)),
    security(("token" = []), ("browser" = []))
)]
async fn show_caller(caller: Caller) -> Result<Json<Whoami>, ApiError> {
    let service = caller.api.service(caller.tenant);
    Ok(Json(Whoami {
        tenant: service.current_tenant().await?.into(),
        role: caller.role(),
        permissions: caller.permissions(),
        token: caller.token.as_ref().map(|token| token.id),
    }))
}
