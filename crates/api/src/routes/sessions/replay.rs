//! `GET /sessions/{session}/replay`: reads the transcript of a session together with its runs and tasks.

use api_types::Replay;
use axum::Json;
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters of a replay.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReplayParams {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// The maximum number of rows of the transcript on the page. The default is 50. Runs and tasks are not counted.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Replay a session
///
/// Returns the rows of the transcript in order, each run before its first row, and each task of a goal before its first
/// run. The replay is made of the transcript and not of the event log, so that it is complete even after retention has
/// trimmed the log. Tasks without a run are left out; the list of tasks has them. Programs skip items of unknown events.
#[utoipa::path(
    get,
    path = "/sessions/{session}/replay",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ReplayParams
    ),
    responses((status = OK, description = "A page of the replay", body = Replay)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn replay_session(
    caller: Caller,
    Path([session]): Path<1>,
    Query(part): Query<ReplayParams>,
) -> Result<Json<Replay>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let limit = list_params::page_limit(part.limit)?;
    let after = list_params::row_number("after", part.after)?.unwrap_or(0);
    Ok(Json(service.replay(&session, after, limit).await?))
}
