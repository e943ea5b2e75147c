//! `PATCH /goals/{goal}`: changes a goal.

use api_types::{Goal, GoalPatch};
use axum::Json as Answer;
use model::access::Permission;

use super::{goal_param::GOAL_PARAM_DESCRIPTION, show::editable};
use crate::{
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, Path},
    problem::ApiError,
};

/// Change a goal
///
/// Applies a merge patch (RFC 7396) to the text, the limits, the budget and the time of a goal. A limit that the patch does
/// not name keeps its value, also one of the budget, and null removes the budget or a limit of it. A new text requests another
/// plan. A goal that its budget or its time has paused goes on if the new one is enough; another paused goal stays paused.
/// Returns 409 if the goal is over, and 412 if the goal is no longer the one that the `ETag` in `If-Match` describes.
#[utoipa::path(
    patch,
    path = "/goals/{goal}",
    tag = "goals",
    params(
        ("goal" = String, Path, description = GOAL_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = GoalPatch,
    responses((
        status = OK,
        description = "The goal",
        body = Goal,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn edit_goal(
    caller: Caller,
    Path([goal]): Path<1>,
    seen: IfMatch,
    patch: Json<GoalPatch>,
) -> Result<(ETag, Answer<Goal>), ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let before = service.goal_to_edit(&goal).await?;
    seen.check("the goal", &editable(&before.goal))?;
    let edited = service.edit_goal(&before, &patch.value).await?;
    caller.wake_loops();
    Ok((etag::header(&editable(&edited)), Answer(edited)))
}
