//! `POST /automations/{automation}/fire`: runs an automation now.

use api_types::Run;
use axum::response::Response;
use http::StatusCode;
use model::{InputId, access::Permission};

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, idempotency::IdempotencyKey, problem::ApiError};

/// Fire an automation
///
/// Creates an occurrence now and returns its run. The occurrence follows the same policies as a scheduled one, and
/// the triggers keep their cadence. The run may be `skipped` in the response, for example because of the overlap
/// policy. A paused automation can be fired as well.
#[utoipa::path(
    post,
    path = "/automations/{automation}/fire",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), IdempotencyKey),
    responses((status = ACCEPTED, description = "The run", body = Run)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn fire_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let fired = idempotency_key.create_with_body(&caller, &[], async |input| {
        let input = input.map(InputId::from_uuid);
        let run = service.fire(&automation, input).await?;
        caller.wake_loops();
        Ok((StatusCode::ACCEPTED, Run::from(run)))
    });
    fired.await
}
