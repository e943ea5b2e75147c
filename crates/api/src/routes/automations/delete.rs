//! `DELETE /automations/{automation}`: deletes an automation.

use api_types::AutomationDeleted;
use axum::Json;
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters of the deletion of an automation.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteAutomationParams {
    /// `true` to delete the sessions that the automation created as well. A session to which another automation is
    /// bound stays.
    #[serde(default)]
    with_sessions: bool,
}

/// Delete an automation
///
/// Deletes an automation. Its triggers no longer fire, its waiting runs are cancelled, and a running turn continues.
/// Its sessions stay unless `with_sessions` is `true`.
#[utoipa::path(
    delete,
    path = "/automations/{automation}",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), DeleteAutomationParams),
    responses((status = OK, description = "The result of the deletion", body = AutomationDeleted)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn delete_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(with): Query<DeleteAutomationParams>,
) -> Result<Json<AutomationDeleted>, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let deleted = service
        .delete_automation(&automation, with.with_sessions)
        .await?;
    caller.wake_loops();
    Ok(Json(deleted))
}
