//! The operations that retry and cancel many runs.

use api_types::{RunBatchRequest, RunsCancelled, RunsRetried};
use axum::response::Response;
use http::StatusCode;
use model::access::Permission;

use crate::{caller::Caller, extract::Json, idempotency::IdempotencyKey, problem::ApiError};

/// Retry many runs
///
/// Creates another attempt at the input of each run that matches the filter and failed, was cancelled or stalled, the
/// oldest first. Returns 409 with the number of these runs in `runs`, and changes nothing, unless the number is
/// `expected`. Each run is retried by itself, as by the retry of a single run, so that a run whose automation or session
/// does not allow it is listed in `refused` and stops no other.
#[utoipa::path(
    post,
    path = "/runs/retry",
    tag = "runs",
    params(IdempotencyKey),
    request_body = RunBatchRequest,
    responses((status = OK, description = "The runs that were retried, and the others", body = RunsRetried)),
    security(("token" = ["runs:write"]), ("browser" = []))
)]
pub(super) async fn retry_runs(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<RunBatchRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::RunsWrite)?;
    let retried = idempotency_key.create(&caller, &request, async |_| {
        let RunBatchRequest { filter, expected } = request.value.clone();
        let retried = service.retry_runs(&filter, expected).await;
        // The database may have failed after some of the runs.
        caller.wake_loops();
        Ok((StatusCode::OK, retried?))
    });
    retried.await
}

/// Cancel many runs
///
/// Cancels each run that matches the filter and has not ended, as the cancellation of a single run does. Returns 409
/// with the number of these runs in `runs`, and changes nothing, unless the number is `expected`. A run that ends
/// meanwhile is listed in `refused`.
#[utoipa::path(
    post,
    path = "/runs/cancel",
    tag = "runs",
    params(IdempotencyKey),
    request_body = RunBatchRequest,
    responses((status = OK, description = "The runs that were cancelled, and the others", body = RunsCancelled)),
    security(("token" = ["runs:write"]), ("browser" = []))
)]
pub(super) async fn cancel_runs(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<RunBatchRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::RunsWrite)?;
    let cancelled = idempotency_key.create(&caller, &request, async |_| {
        let RunBatchRequest { filter, expected } = request.value.clone();
        let cancelled = service.cancel_runs(&filter, expected).await;
        // The database may have failed after some of the runs.
        caller.wake_loops();
        Ok((StatusCode::OK, cancelled?))
    });
    cancelled.await
}
