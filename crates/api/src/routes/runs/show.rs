//! `GET /runs/{run}`: reads a run, its internal record and its live text.

use api_types::{LiveText, RunEdit, RunRecordView, RunView};
use axum::{Json, response::IntoResponse};
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{super::run_names, path_param::RUN_PARAM_DESCRIPTION};
use crate::{
    caller::Caller,
    etag::{self, ETag},
    extract::{Path, Query},
    problem::ApiError,
};

/// Show a run
///
/// Returns one run with all attempts at the same input, with the reason why it waits, if it does, with its answer, and
/// with the names of its automation, session, agent and instance. A caller without the permission to read such an object
/// gets null in place of its name, and one without `sessions:read` gets no answer.
#[utoipa::path(
    get,
    path = "/runs/{run}",
    tag = "runs",
    params(("run" = String, Path, description = RUN_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The run",
        body = RunView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["runs:read"]), ("browser" = []))
)]
pub(super) async fn show_run(
    caller: Caller,
    Path([run]): Path<1>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::RunsRead)?;
    let view = service.run(&run).await?;
    Ok(tagged(&caller, view))
}

/// Returns a run as the caller may see it, with its entity tag.
pub(super) fn tagged(caller: &Caller, mut view: RunView) -> (ETag, Json<RunView>) {
    run_names::redact(caller, [&mut view.names]);
    (etag::header(&editable(&view)), Json(view))
}

/// Returns the part of a run that a request can change, from which the entity tag is computed.
pub(super) fn editable(view: &RunView) -> RunEdit<'_> {
    RunEdit {
        content: &view.run.content,
    }
}

/// Show the internal record of a run
///
/// Returns the prompt that the agent received and the whole error. No transcript contains them. `record` is null
/// before the run begins, and after retention has removed the record.
#[utoipa::path(
    get,
    path = "/runs/{run}/record",
    tag = "runs",
    params(("run" = String, Path, description = RUN_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The record", body = RunRecordView)),
    security(("token" = ["records:read"]), ("browser" = []))
)]
pub(super) async fn show_record(
    caller: Caller,
    Path([run]): Path<1>,
) -> Result<Json<RunRecordView>, ApiError> {
    let service = caller.authorize(Permission::RecordsRead)?;
    let record = service.run_record(&run).await?.map(Into::into);
    Ok(Json(RunRecordView { record }))
}

/// The query parameters of the live text.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveTextParams {
    /// The position of the first byte to return. To continue, send `end` of the previous response. The default is 0.
    #[serde(default)]
    #[param(minimum = 0)]
    from: u32,
}

/// Show the live text of a run
///
/// Returns the part of its answer that a running turn has written so far. The text is empty after the end of the
/// turn, because the transcript contains the answer then. The trace of the session streams the same text as `delta`.
#[utoipa::path(
    get,
    path = "/runs/{run}/text",
    tag = "runs",
    params(("run" = String, Path, description = RUN_PARAM_DESCRIPTION), LiveTextParams),
    responses((status = OK, description = "The text so far", body = LiveText)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_live_text(
    caller: Caller,
    Path([run]): Path<1>,
    Query(from): Query<LiveTextParams>,
) -> Result<Json<LiveText>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    Ok(Json(service.live_text(&run, from.from.into()).await?))
}
