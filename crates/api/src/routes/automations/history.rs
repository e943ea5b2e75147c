//! What an automation made: its sessions and its occurrences

use axum::Json;
use model::{access::Permission, run::RunStatus};
use serde::Deserialize;
use service::{RunQuery, SessionQuery};
use utoipa::IntoParams;
use wire::{Page, Run, Session};

use super::{super::lists, named::NAMED};
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::Failure,
};

/// Which page is shown.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// What `next` of the page before said.
    #[param(value_type = Option<model::SessionId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the sessions of an automation
///
/// Returns the sessions that an automation created, the newest first.
#[utoipa::path(
    get,
    path = "/automations/{automation}/sessions",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED), Part),
    responses((status = OK, description = "A page of sessions", body = Page<Session>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_sessions_of_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(part): Query<Part>,
) -> Result<Json<Page<Session>>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    caller.may(Permission::SessionsRead)?;
    let query = SessionQuery {
        automation: Some(automation),
        after: lists::after(part.after.as_deref())?,
        limit: lists::limit(part.limit)?,
        ..SessionQuery::default()
    };
    Ok(Json(service.sessions(&query).await?.map(Into::into)))
}

/// Which occurrences are shown.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Occurred {
    /// What became of them.
    status: Option<RunStatus>,
    /// What `next` of the page before said.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the occurrences of an automation
///
/// Returns each due instant once, the newest first: as the first run that it became, as skipped with a reason, or as
/// missed.
#[utoipa::path(
    get,
    path = "/automations/{automation}/occurrences",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED), Occurred),
    responses((status = OK, description = "A page of occurrences", body = Page<Run>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_occurrences(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(part): Query<Occurred>,
) -> Result<Json<Page<Run>>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    caller.may(Permission::RunsRead)?;
    let query = RunQuery {
        automation: Some(automation),
        status: part.status,
        occurrences: true,
        after: lists::after(part.after.as_deref())?,
        limit: lists::limit(part.limit)?,
        ..RunQuery::default()
    };
    Ok(Json(service.runs(&query).await?.map(Into::into)))
}
