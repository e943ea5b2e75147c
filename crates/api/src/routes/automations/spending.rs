//! `GET /automations/{automation}/spending`

use axum::Json;
use model::access::Permission;
use wire::Spending;

use super::named::NAMED;
use crate::{caller::Caller, extract::Path, problem::Failure};

/// Show the usage of an automation
///
/// Returns the usage of today and of this month, in UTC, beside the budget of the automation. The usage of a running
/// turn is counted every few seconds.
#[utoipa::path(
    get,
    path = "/automations/{automation}/spending",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED)),
    responses((status = OK, description = "What it has used", body = Spending)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_automation_spending(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<Json<Spending>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    Ok(Json(service.automation_spending(&automation).await?))
}
