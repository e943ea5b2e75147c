//! The operations that retry and cancel a run.

use api_types::{Run, RunCancelled};
use axum::{Json, response::Response};
use http::StatusCode;
use model::{RunId, access::Permission};

use super::path_param::RUN_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, idempotency::IdempotencyKey, problem::ApiError};

/// Retry a run
///
/// Creates another attempt at the input of a run that failed, was cancelled or stalled, and returns the new attempt.
/// Returns 409 for a run with any other status, and for a run that a later attempt has followed.
#[utoipa::path(
    post,
    path = "/runs/{run}/retry",
    tag = "runs",
    params(("run" = String, Path, description = RUN_PARAM_DESCRIPTION), IdempotencyKey),
    responses((status = ACCEPTED, description = "The new attempt", body = Run)),
    security(("token" = ["runs:write"]), ("browser" = []))
)]
pub(super) async fn retry_run(
    caller: Caller,
    Path([run]): Path<1>,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::RunsWrite)?;
    let tried = idempotency_key.create_with_body(&caller, &[], async |id| {
        let again = service.retry_run(&run, id.map(RunId::from_uuid)).await?;
        caller.wake_loops();
        Ok((StatusCode::ACCEPTED, Run::from(again)))
    });
    tried.await
}

/// Cancel a run
///
/// Cancels a run. A waiting run ends at once, and a running one as soon as its agent has stopped; the response
/// contains the status of the run after the request. Returns 409 if the run has ended.
#[utoipa::path(
    post,
    path = "/runs/{run}/cancel",
    tag = "runs",
    params(("run" = String, Path, description = RUN_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The status after the request", body = RunCancelled)),
    security(("token" = ["runs:write"]), ("browser" = []))
)]
pub(super) async fn cancel_run(
    caller: Caller,
    Path([run]): Path<1>,
) -> Result<Json<RunCancelled>, ApiError> {
    let service = caller.authorize(Permission::RunsWrite)?;
    let cancelled = service.cancel_run(&run).await?;
    caller.wake_loops();
    Ok(Json(cancelled))
}
