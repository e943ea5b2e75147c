//! `GET /goals`: lists goals.

use api_types::{GoalSummary, Page};
use axum::Json;
use model::{access::Permission, goal::GoalStatus};
use serde::Deserialize;
use service::GoalQuery;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{caller::Caller, extract::Query, problem::ApiError};

/// The query parameters of the list of goals.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListGoalsParams {
    /// The state of the goals. Without it, the response has goals in all states.
    state: Option<GoalStatus>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::SessionId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List goals
///
/// Returns the goals, the newest first, each with its state, its phase, the numbers of its tasks, and the usage that its
/// agents have reported.
#[utoipa::path(
    get,
    path = "/goals",
    tag = "goals",
    params(ListGoalsParams),
    responses((status = OK, description = "A page of goals", body = Page<GoalSummary>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_goals(
    caller: Caller,
    Query(filter): Query<ListGoalsParams>,
) -> Result<Json<Page<GoalSummary>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let query = GoalQuery {
        state: filter.state,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Json(service.goals(&query).await?))
}
