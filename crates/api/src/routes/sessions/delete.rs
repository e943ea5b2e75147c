//! `DELETE /sessions/{session}`: deletes a session.

use api_types::{ProblemKind, SessionDeleted};
use axum::Json;
use http::StatusCode;
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters of the deletion of a session.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteSessionParams {
    /// `true` to delete the automations that are bound to the session as well.
    #[serde(default)]
    with_automations: bool,
}

/// Delete a session
///
/// Deletes a session with its transcript and cancels its running turns. If automations are bound to the session,
/// returns 409 with their names and deletes nothing, unless `with_automations` is `true`.
#[utoipa::path(
    delete,
    path = "/sessions/{session}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        DeleteSessionParams
    ),
    responses((status = OK, description = "The result of the deletion", body = SessionDeleted)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn delete_session(
    caller: Caller,
    Path([session]): Path<1>,
    Query(consent): Query<DeleteSessionParams>,
) -> Result<Json<SessionDeleted>, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let deleted = service
        .delete_session(&session, consent.with_automations)
        .await?;
    if !deleted.deleted {
        let detail = "automations are bound to the session";
        return Err(
            ApiError::new(ProblemKind::Refused, StatusCode::CONFLICT, detail)
                .field("with_automations")
                .hint("repeat the request with `with_automations=true` to delete them as well")
                .automations(deleted.automations),
        );
    }
    caller.wake_loops();
    Ok(Json(deleted))
}
