//! `GET /runs`: lists runs.

use api_types::{Page, RunFilterRequest, RunItem};
use axum::Json;
use model::{
    Timestamp,
    access::Permission,
    run::{Origin, RunStatus},
};
use serde::Deserialize;
use service::RunQuery;
use utoipa::IntoParams;

use super::super::{list_params, run_names};
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
    /// The instance that executes the runs or did, or on which they wait: its name or its ID.
    instance: Option<String>,
    /// The statuses of the runs, separated by commas. Without them, the list contains runs of all statuses.
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
    /// `true` to list each attempt. The default is `false`: the last attempt at an input stands for the input, so that
    /// a run that succeeded at its second attempt is not listed as failed.
    #[serde(default)]
    all_attempts: bool,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List runs
///
/// Returns runs, the newest first: one for each input, with its outcome so far, and one for each skipped or missed
/// occurrence. `content` is cut to 300 characters. A caller without the permission to read an automation, a session,
/// an agent or an instance gets null in place of its name, and one without `sessions:read` gets no answers.
#[utoipa::path(
    get,
    path = "/runs",
    tag = "runs",
    params(ListRunsParams),
    responses((status = OK, description = "A page of runs", body = Page<RunItem>)),
    security(("token" = ["runs:read"]), ("browser" = []))
)]
pub(super) async fn list_runs(
    caller: Caller,
    Query(filter): Query<ListRunsParams>,
) -> Result<Json<Page<RunItem>>, ApiError> {
    let service = caller.authorize(Permission::RunsRead)?;
    let query = RunQuery {
        selection: RunFilterRequest {
            session: filter.session,
            automation: filter.automation,
            instance: filter.instance,
            status: filter.status.unwrap_or_default(),
            origin: filter.origin,
            reason: filter.reason,
            from: filter.from,
            to: filter.to,
        },
        occurrences: false,
        all_attempts: filter.all_attempts,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    let mut page = service.runs(&query).await?;
    run_names::redact(&caller, page.items.iter_mut().map(|item| &mut item.names));
    Ok(Json(page))
}
