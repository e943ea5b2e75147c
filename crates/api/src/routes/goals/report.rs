//! `GET /goals/{goal}/report`: reads the report of a goal.

use api_types::GoalReport;
use axum::Json;
use model::access::Permission;

use super::goal_param::GOAL_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, problem::ApiError};

/// Show the report of a goal
///
/// Returns the report of a goal as it stands, in Markdown: the outcome, the tasks with their results, the findings about tasks
/// that are not done, the edits outside of the paths of tasks, the questions with their answers, and the usage. Matins writes it
/// without a model. The text of the planner is a section of it, once there is one.
#[utoipa::path(
    get,
    path = "/goals/{goal}/report",
    tag = "goals",
    params(("goal" = String, Path, description = GOAL_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The report", body = GoalReport)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn report_goal(
    caller: Caller,
    Path([goal]): Path<1>,
) -> Result<Json<GoalReport>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    Ok(Json(service.goal_report(&goal).await?))
}
