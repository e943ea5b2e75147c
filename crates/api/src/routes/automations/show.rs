//! `GET /automations/{automation}`: reads an automation.

use api_types::AutomationView;
use axum::{Json, response::IntoResponse};
use model::access::Permission;

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{caller::Caller, etag, extract::Path, problem::ApiError};

/// Show an automation
///
/// Returns one automation with its triggers, its next runs, all its policies and its newest runs.
#[utoipa::path(
    get,
    path = "/automations/{automation}",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The automation",
        body = AutomationView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_automation(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    let view = service.automation(&automation).await?;
    Ok((etag::header(&view.request()), Json(view)))
}
