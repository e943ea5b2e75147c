//! `PATCH /runs/{run}`: changes a message that waits.

use api_types::{RunPatch, RunView};
use axum::response::IntoResponse;
use model::access::Permission;

use super::{
    path_param::RUN_PARAM_DESCRIPTION,
    show::{editable, tagged},
};
use crate::{
    caller::Caller,
    etag::IfMatch,
    extract::{Json, Path},
    problem::ApiError,
};

/// Change a message that waits
///
/// Replaces the text of a person's message whose run is queued or deferred. Returns 409 as soon as a worker has taken the
/// run, and for inputs of automations. Returns 412 if the text is no longer the one that the `ETag` in `If-Match`
/// describes, or changes while the server applies the patch.
#[utoipa::path(
    patch,
    path = "/runs/{run}",
    tag = "runs",
    params(
        ("run" = String, Path, description = RUN_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = RunPatch,
    responses((
        status = OK,
        description = "The run",
        body = RunView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["runs:write"]), ("browser" = []))
)]
pub(super) async fn edit_run(
    caller: Caller,
    Path([run]): Path<1>,
    seen: IfMatch,
    patch: Json<RunPatch>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::RunsWrite)?;
    let view = service.run(&run).await?;
    seen.check("the run", &editable(&view))?;
    let before = &view.run.content;
    let to = patch.value.content.as_deref().unwrap_or(before);
    let view = service.edit_message(view.run.id, before, to).await?;
    Ok(tagged(&caller, view))
}
