//! `GET /runs/count`: counts runs.

use api_types::{RunCounts, RunFilterRequest};
use axum::Json;
use model::{
    Timestamp,
    access::Permission,
    run::{Origin, RunStatus},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{caller::Caller, extract::Query, problem::ApiError};

/// The query parameters of the count of runs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CountRunsParams {
    /// The session of the runs: its ID, the beginning of its ID, or its key.
    session: Option<String>,
    /// The automation of the runs: its name, its ID, or the beginning of its ID.
    automation: Option<String>,
    /// The instance that executes the runs or did, or on which they wait: its name or its ID.
    instance: Option<String>,
    /// The statuses of the runs, separated by commas. Without them, runs of all statuses count.
    #[serde(default, deserialize_with = "list_params::comma_separated")]
    #[param(style = Form, explode = false, min_items = 1)]
    status: Option<Vec<RunStatus>>,
    /// The origin of the inputs of the runs.
    origin: Option<Origin>,
    /// The `reason` of the runs, such as `sign_in`.
    reason: Option<String>,
    /// The instant from which on the runs were created, such as `2026-11-19T22:00:00Z`.
    from: Option<Timestamp>,
    /// The instant before which the runs were created.
    to: Option<Timestamp>,
}

/// Count runs
///
/// Returns the number of runs that the list of runs has with the same filter, and how many of them can be retried and
/// cancelled. Each count stops at 500 and then has `more`.
#[utoipa::path(
    get,
    path = "/runs/count",
    tag = "runs",
    params(CountRunsParams),
    responses((status = OK, description = "The counts", body = RunCounts)),
    security(("token" = ["runs:read"]), ("browser" = []))
)]
pub(super) async fn count_runs(
    caller: Caller,
    Query(filter): Query<CountRunsParams>,
) -> Result<Json<RunCounts>, ApiError> {
    let service = caller.authorize(Permission::RunsRead)?;
    let selection = RunFilterRequest {
        session: filter.session,
        automation: filter.automation,
        instance: filter.instance,
        status: filter.status.unwrap_or_default(),
        origin: filter.origin,
        reason: filter.reason,
        from: filter.from,
        to: filter.to,
    };
    Ok(Json(service.count_runs(&selection).await?))
}
