//! `DELETE /automations/{automation}`

use axum::Json;
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::AutomationDeleted;

use super::named::NAMED;
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::Failure,
};

/// What goes with it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct With {
    /// Whether its sessions are to be deleted, too. One to which another automation is bound stays.
    #[serde(default)]
    with_sessions: bool,
}

/// Delete an automation
///
/// Deletes an automation. Its sessions stay unless `with_sessions` is set.
#[utoipa::path(
    delete,
    path = "/automations/{automation}",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED), With),
    responses((status = OK, description = "It is gone", body = AutomationDeleted)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn delete_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(with): Query<With>,
) -> Result<Json<AutomationDeleted>, Failure> {
    let service = caller.may(Permission::AutomationsWrite)?;
    let deleted = service
        .delete_automation(&automation, with.with_sessions)
        .await?;
    caller.wake();
    Ok(Json(deleted))
}
