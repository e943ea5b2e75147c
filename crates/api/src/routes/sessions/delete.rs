//! `DELETE /sessions/{session}`

use axum::Json;
use http::StatusCode;
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::SessionDeleted;

use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::Failure,
};

/// Whether automations may go with it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Consent {
    /// Whether the automations that are bound to it are to be deleted, too.
    #[serde(default)]
    with_automations: bool,
}

/// Delete a session
///
/// Automations that are bound to it block that: they are named, and nothing is deleted. Asked again with
/// `with_automations=true`, they are deleted, and then the session. Turns that are under way are called off.
#[utoipa::path(
    delete,
    path = "/sessions/{session}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "Its id, the beginning of that, or its key"),
        Consent
    ),
    responses(
        (status = OK, description = "It is gone", body = SessionDeleted),
        (status = CONFLICT, description = "Automations block it", body = SessionDeleted)
    ),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn delete_session(
    caller: Caller,
    Path([session]): Path<1>,
    Query(consent): Query<Consent>,
) -> Result<(StatusCode, Json<SessionDeleted>), Failure> {
    let service = caller.may(Permission::SessionsWrite)?;
    let deleted = service
        .delete_session(&session, consent.with_automations)
        .await?;
    let status = if deleted.deleted {
        caller.wake();
        StatusCode::OK
    } else {
        StatusCode::CONFLICT
    };
    Ok((status, Json(deleted)))
}
