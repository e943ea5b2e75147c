//! `GET /automations/{automation}`: reads an automation.

use api_types::AutomationView;
use axum::{Json, response::IntoResponse};
use model::access::Permission;

use super::named::NAMED;
use crate::{caller::Caller, etag, extract::Path, problem::Failure};

/// Show an automation
///
/// Returns one automation with its triggers, its next runs, all its policies and its newest runs.
#[utoipa::path(
    get,
    path = "/automations/{automation}",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED)),
    responses((
        status = OK,
        description = "The automation",
        body = AutomationView,
        headers(("ETag" = String, description = "What of it can be edited"))
    )),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_automation(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<impl IntoResponse, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    let view = service.automation(&automation).await?;
    Ok((etag::header(&view.request()), Json(view)))
}
