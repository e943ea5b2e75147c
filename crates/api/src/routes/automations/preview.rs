//! `POST /automations/preview`: computes the next runs of triggers without an automation.

use api_types::{Preview, PreviewRequest};
use axum::Json as Answer;
use model::access::Permission;

use crate::{caller::Caller, extract::Json, problem::ApiError};

/// Preview the runs of triggers
///
/// Returns the instants at which triggers would fire from now on, each with its time zone and offset. The server
/// stores nothing.
#[utoipa::path(
    post,
    path = "/automations/preview",
    tag = "automations",
    request_body = PreviewRequest,
    responses((status = OK, description = "The next runs", body = Preview)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn preview_runs(
    caller: Caller,
    request: Json<PreviewRequest>,
) -> Result<Answer<Preview>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    Ok(Answer(service.preview_runs(&request.value)?))
}
