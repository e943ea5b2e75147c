//! The writes of a turn, one operation for each method of its storage port.

use axum::Json;
use runtime_api::{
    begin::{BeginReply, BeginRequest, DeclineReply, DeclineRequest},
    result::TurnResult,
    writes::{
        HeartbeatResponse, LiveTextRequest, RecordRequest, UsageReply, UsageRequest, WriteReply,
    },
};

use crate::{
    problem::ApiError,
    runtime_caller::{Body, PathRun, RuntimeCaller},
};

/// Begins the turn of a claimed run.
pub(super) async fn begin(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<BeginRequest>,
) -> Result<Json<BeginReply>, ApiError> {
    caller.require_known_time()?;
    let BeginRequest {
        secret_hash,
        directory_missing,
    } = request;
    let reply = caller.runtime.begin(run, secret_hash, directory_missing);
    let reply = reply.await?.into();
    // A run that could not begin may be the work of another server, and its seat may be free.
    if !matches!(
        reply,
        BeginReply::Started { .. } | BeginReply::RunPrecheck { .. }
    ) {
        caller.wake_loops();
    }
    Ok(Json(reply))
}

/// Begins the turn of a run whose precheck has not declined it.
pub(super) async fn begin_after_precheck(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<BeginRequest>,
) -> Result<Json<BeginReply>, ApiError> {
    caller.require_known_time()?;
    let reply = caller
        .runtime
        .begin_after_precheck(run, request.secret_hash);
    Ok(Json(reply.await?.into()))
}

/// Skips a run that its precheck has declined.
pub(super) async fn decline(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<DeclineRequest>,
) -> Result<Json<DeclineReply>, ApiError> {
    let outcome = caller.runtime.decline(run, &request.diagnostics).await?;
    caller.wake_loops();
    Ok(Json(outcome.into()))
}

/// Renews the heartbeat of a run.
pub(super) async fn heartbeat(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
) -> Result<Json<HeartbeatResponse>, ApiError> {
    caller.require_known_time()?;
    Ok(Json(caller.runtime.heartbeat(run).await?.into()))
}

/// Writes rows of the transcript.
pub(super) async fn record(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<RecordRequest>,
) -> Result<Json<WriteReply>, ApiError> {
    let entries: Vec<_> = request.entries.into_iter().map(Into::into).collect();
    Ok(Json(caller.runtime.record(run, &entries).await?.into()))
}

/// Appends to the live text for viewers.
pub(super) async fn append_live_text(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<LiveTextRequest>,
) -> Result<Json<WriteReply>, ApiError> {
    let LiveTextRequest { position, text } = request;
    let written = caller.runtime.append_live_text(run, position, &text);
    Ok(Json(written.await?.into()))
}

/// Writes the usage of the turn so far.
pub(super) async fn record_usage(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(request): Body<UsageRequest>,
) -> Result<Json<UsageReply>, ApiError> {
    let accounts = caller.runtime.record_usage(run, &request.usage).await?;
    Ok(Json(UsageReply {
        accounts: accounts.map(Into::into),
    }))
}

/// Finishes a run.
pub(super) async fn finish(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    Body(result): Body<TurnResult>,
) -> Result<Json<WriteReply>, ApiError> {
    let written = caller.runtime.finish(run, &result.into()).await?;
    // The end of a run may have queued the next input of its seat, or a retry with a backoff.
    caller.wake_loops();
    Ok(Json(written.into()))
}
