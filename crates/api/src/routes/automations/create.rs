//! `POST /automations`: creates an automation.

use api_types::{AutomationRequest, AutomationView};
use axum::response::Response;
use http::StatusCode;
use model::{AutomationId, access::Permission};

use super::precheck::authorize_precheck;
use crate::{caller::Caller, extract::Json, idempotency::IdempotencyKey, problem::ApiError};

/// Create an automation
///
/// Creates an automation that is enabled, and returns it with its next runs. Without `name`, the server derives a
/// name from the prompt. A precheck needs the permission `agents:write` as well, because the server runs its
/// command.
#[utoipa::path(
    post,
    path = "/automations",
    tag = "automations",
    params(IdempotencyKey),
    request_body = AutomationRequest,
    responses((status = CREATED, description = "The automation", body = AutomationView)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn create_automation(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<AutomationRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    authorize_precheck(&caller, None, &request.value)?;
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(AutomationId::from_uuid);
        let view = service.create_automation(&request.value, id).await?;
        caller.wake_loops();
        Ok((StatusCode::CREATED, view))
    });
    created.await
}
