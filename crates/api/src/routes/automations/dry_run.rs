//! `POST /automations/dry-run`: what the next run of an automation would be.

use api_types::{DryRun, DryRunRequest};
use axum::Json as Answer;
use model::access::Permission;

use crate::{caller::Caller, extract::Json, problem::ApiError};

/// Try an automation without running it
///
/// Returns the prompt, the session, the directory, the permission rules, the budget and the instants of the next run: of
/// an automation as it is stored, or with another definition. The server stores nothing and starts no agent. A
/// definition needs the permission `automations:write`, because the server checks its directory.
#[utoipa::path(
    post,
    path = "/automations/dry-run",
    tag = "automations",
    request_body = DryRunRequest,
    responses((status = OK, description = "What the next run would be", body = DryRun)),
    security(("token" = ["automations:read", "sessions:read"]), ("browser" = []))
)]
pub(super) async fn dry_run_automation(
    caller: Caller,
    request: Json<DryRunRequest>,
) -> Result<Answer<DryRun>, ApiError> {
    caller.authorize(Permission::SessionsRead)?;
    let service = caller.authorize(Permission::AutomationsRead)?;
    if request.value.definition.is_some() {
        caller.authorize(Permission::AutomationsWrite)?;
    }
    Ok(Answer(service.dry_run(&request.value).await?))
}
