//! `GET /runs`

use axum::Json;
use model::{
    access::Permission,
    run::{Origin, RunStatus},
};
use serde::Deserialize;
use service::RunQuery;
use utoipa::IntoParams;
use wire::{Page, Run};

use super::super::lists;
use crate::{caller::Caller, extract::Query, problem::Failure};

/// Which runs a list shows.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Those of a session.
    session: Option<String>,
    /// Those of an automation.
    automation: Option<String>,
    /// Those in a status.
    status: Option<RunStatus>,
    /// Those whose inputs came from there.
    origin: Option<Origin>,
    /// What `next` of the page before said.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List runs
///
/// Returns attempts, the newest first, with skipped and missed occurrences.
#[utoipa::path(
    get,
    path = "/runs",
    tag = "runs",
    params(Filter),
    responses((status = OK, description = "A page of runs", body = Page<Run>)),
    security(("token" = ["runs:read"]), ("browser" = []))
)]
pub(super) async fn list_runs(
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<Run>>, Failure> {
    let service = caller.may(Permission::RunsRead)?;
    let query = RunQuery {
        session: filter.session,
        automation: filter.automation,
        status: filter.status,
        origin: filter.origin,
        occurrences: false,
        after: lists::after(filter.after.as_deref())?,
        limit: lists::limit(filter.limit)?,
    };
    Ok(Json(service.runs(&query).await?.map(Into::into)))
}
