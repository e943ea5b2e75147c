//! `GET /runs`: lists runs.

use api_types::{Page, Run};
use axum::Json;
use model::{
    access::Permission,
    run::{Origin, RunStatus},
};
use serde::Deserialize;
use service::RunQuery;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{caller::Caller, extract::Query, problem::ApiError};

/// The query parameters of the list of runs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListRunsParams {
    /// The session of the runs: its ID, the beginning of its ID, or its key.
    session: Option<String>,
    /// The automation of the runs: its name, its ID, or the beginning of its ID.
    automation: Option<String>,
    /// The status of the runs.
    status: Option<RunStatus>,
    /// The origin of the inputs of the runs.
    origin: Option<Origin>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List runs
///
/// Returns runs, the newest first. Each attempt is a run of its own, and so is each skipped or missed occurrence.
#[utoipa::path(
    get,
    path = "/runs",
    tag = "runs",
    params(ListRunsParams),
    responses((status = OK, description = "A page of runs", body = Page<Run>)),
    security(("token" = ["runs:read"]), ("browser" = []))
)]
pub(super) async fn list_runs(
    caller: Caller,
    Query(filter): Query<ListRunsParams>,
) -> Result<Json<Page<Run>>, ApiError> {
    let service = caller.authorize(Permission::RunsRead)?;
    let query = RunQuery {
        session: filter.session,
        automation: filter.automation,
        status: filter.status,
        origin: filter.origin,
        occurrences: false,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Json(service.runs(&query).await?.map(Into::into)))
}
