//! The sessions and the occurrences of an automation.

use api_types::{Page, RunFilterRequest, RunItem, SessionItem};
use axum::Json;
use model::{access::Permission, run::RunStatus};
use serde::Deserialize;
use service::{RunQuery, SessionQuery};
use store::SessionOrder;
use utoipa::IntoParams;

use super::{
    super::{list_params, run_names},
    path_param::AUTOMATION_PARAM_DESCRIPTION,
};
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters of the list of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AutomationSessionsParams {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::SessionId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the sessions of an automation
///
/// Returns the sessions that an automation created, the newest first, each with the beginning of its last message and the
/// outcome of its last run. The caller needs the permission `sessions:read` as well.
#[utoipa::path(
    get,
    path = "/automations/{automation}/sessions",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), AutomationSessionsParams),
    responses((status = OK, description = "A page of sessions", body = Page<SessionItem>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_sessions_of_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(part): Query<AutomationSessionsParams>,
) -> Result<Json<Page<SessionItem>>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    caller.authorize(Permission::SessionsRead)?;
    let query = SessionQuery {
        automation: Some(automation),
        order: SessionOrder::Created {
            after: list_params::parse_cursor(part.after.as_deref())?,
        },
        limit: list_params::page_limit(part.limit)?,
        ..SessionQuery::default()
    };
    Ok(Json(service.sessions(&query).await?))
}

/// The query parameters of the list of occurrences.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListOccurrencesParams {
    /// The statuses of the runs of the occurrences, separated by commas, such as `skipped,missed`.
    #[serde(default, deserialize_with = "list_params::comma_separated")]
    #[param(style = Form, explode = false, min_items = 1)]
    status: Option<Vec<RunStatus>>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::RunId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the occurrences of an automation
///
/// Returns each due instant of the triggers once, the newest first. An occurrence is the last attempt at that instant,
/// or a row that is `skipped` with a reason, or `missed`. The caller needs the permission `runs:read` as well, and
/// without `sessions:read` gets no titles of sessions and no answers.
#[utoipa::path(
    get,
    path = "/automations/{automation}/occurrences",
    tag = "automations",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), ListOccurrencesParams),
    responses((status = OK, description = "A page of occurrences", body = Page<RunItem>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_occurrences(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(part): Query<ListOccurrencesParams>,
) -> Result<Json<Page<RunItem>>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    caller.authorize(Permission::RunsRead)?;
    let query = RunQuery {
        selection: RunFilterRequest {
            automation: Some(automation),
            status: part.status.unwrap_or_default(),
            ..RunFilterRequest::default()
        },
        occurrences: true,
        after: list_params::parse_cursor(part.after.as_deref())?,
        limit: list_params::page_limit(part.limit)?,
        ..RunQuery::default()
    };
    let mut page = service.runs(&query).await?;
    run_names::redact(&caller, page.items.iter_mut().map(|item| &mut item.names));
    Ok(Json(page))
}
