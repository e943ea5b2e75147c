//! The sessions and the occurrences of an automation.

use api_types::{Page, Run, Session};
use axum::Json;
use model::{access::Permission, run::RunStatus};
use serde::Deserialize;
use service::{RunQuery, SessionQuery};
use utoipa::IntoParams;

use super::{super::lists, named::NAMED};
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::Failure,
};

/// The query parameters of the list of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::SessionId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the sessions of an automation
///
/// Returns the sessions that an automation created, the newest first. The caller needs the permission `sessions:read`
/// as well.
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

/// The query parameters of the list of occurrences.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Occurred {
    /// The status of the run of each occurrence, such as `skipped` or `missed`.
    status: Option<RunStatus>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the occurrences of an automation
///
/// Returns each due instant of the triggers once, the newest first. An occurrence is the first run at that instant,
/// or a row that is `skipped` with a reason, or `missed`. The caller needs the permission `runs:read` as well.
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
