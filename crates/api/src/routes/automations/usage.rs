//! `GET /automations/{automation}/usage`: reads the usage of an automation.

use api_types::BudgetUsage;
use axum::Json;
use model::access::Permission;

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, problem::ApiError};

/// Show the usage of an automation
///
/// Returns the usage of an automation, of this day and of this month in UTC, beside its budget. The server counts the
/// usage of a running turn every few seconds.
#[utoipa::path(
    get,
    path = "/automations/{automation}/usage",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The budget and the usage", body = BudgetUsage)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_automation_usage(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<Json<BudgetUsage>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    Ok(Json(service.automation_usage(&automation).await?))
}
