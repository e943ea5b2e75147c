//! `GET /goals/{goal}`: reads a goal.

use api_types::Goal;
use axum::Json;
use model::access::Permission;

use super::goal_param::GOAL_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, problem::ApiError};

/// Show a goal
///
/// Returns one goal with its seats, its limits and checks, and its open questions.
#[utoipa::path(
    get,
    path = "/goals/{goal}",
    tag = "goals",
    params(("goal" = String, Path, description = GOAL_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The goal", body = Goal)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_goal(
    caller: Caller,
    Path([goal]): Path<1>,
) -> Result<Json<Goal>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    Ok(Json(service.goal(&goal).await?))
}
