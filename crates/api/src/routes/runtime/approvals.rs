//! Requests of a turn to people. Each is written once, by an ID that the runtime has chosen, and then polled.

use std::time::Duration;

use axum::Json;
use model::{ApprovalId, QuestionId};
use runtime_api::{
    MAX_WAIT_MILLIS,
    approvals::{ApprovalReply, ApprovalRequest, QuestionReply, QuestionRequest, WaitRequest},
    writes::WriteReply,
};

use crate::{
    problem::ApiError,
    runtime_caller::{Body, PathId, PathRun, RuntimeCaller},
};

/// Requests a person's approval.
pub(super) async fn request_approval(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<ApprovalRequest>,
) -> Result<Json<WriteReply>, ApiError> {
    let ApprovalRequest {
        id,
        timeout_millis,
        permission,
    } = request;
    let timeout = Duration::from_millis(timeout_millis);
    let request = permission.into();
    let written = caller.runtime.request_approval(run, id, &request, timeout);
    let written = written.await?;
    caller.wake_loops();
    Ok(Json(written.into()))
}

/// Waits for a decision, or expires the request.
pub(super) async fn wait_for_decision(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    PathId(id): PathId<ApprovalId>,
    Body(request): Body<WaitRequest>,
) -> Result<Json<ApprovalReply>, ApiError> {
    let wait = bounded_wait(request.wait_millis);
    let state = caller.runtime.approval_state(run, id, wait, request.expire);
    Ok(Json(state.await?.into()))
}

/// Asks a person a question.
pub(super) async fn request_answer(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<QuestionRequest>,
) -> Result<Json<WriteReply>, ApiError> {
    let QuestionRequest {
        id,
        timeout_millis,
        question,
    } = request;
    let timeout = Duration::from_millis(timeout_millis);
    let question = question.into();
    let written = caller.runtime.request_answer(run, id, &question, timeout);
    let written = written.await?;
    caller.wake_loops();
    Ok(Json(written.into()))
}

/// Waits for an answer, or expires the question.
pub(super) async fn wait_for_answer(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    PathId(id): PathId<QuestionId>,
    Body(request): Body<WaitRequest>,
) -> Result<Json<QuestionReply>, ApiError> {
    let wait = bounded_wait(request.wait_millis);
    let state = caller.runtime.question_state(run, id, wait, request.expire);
    Ok(Json((&state.await?).into()))
}

/// Withdraws the open requests of a run.
pub(super) async fn withdraw(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
) -> Result<Json<WriteReply>, ApiError> {
    Ok(Json(caller.runtime.withdraw_approvals(run).await?.into()))
}

/// Returns a wait that ends before the time limit of requests.
pub(super) fn bounded_wait(millis: u64) -> Duration {
    Duration::from_millis(millis.min(MAX_WAIT_MILLIS))
}
