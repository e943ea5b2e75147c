//! `GET /goals/{goal}`: reads a goal.

use std::collections::BTreeMap;

use api_types::{Goal, GoalBudget};
use axum::Json;
use model::{Timestamp, access::Permission};
use serde::Serialize;

use super::goal_param::GOAL_PARAM_DESCRIPTION;
use crate::{
    caller::Caller,
    etag::{self, ETag},
    extract::Path,
    problem::ApiError,
};

/// Show a goal
///
/// Returns one goal with its seats, its limits and checks, and its open questions.
#[utoipa::path(
    get,
    path = "/goals/{goal}",
    tag = "goals",
    params(("goal" = String, Path, description = GOAL_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The goal",
        body = Goal,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_goal(
    caller: Caller,
    Path([goal]): Path<1>,
) -> Result<(ETag, Json<Goal>), ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let found = service.goal(&goal).await?;
    Ok((etag::header(&editable(&found)), Json(found)))
}

/// The part of a goal that a request can change, from which the entity tag is computed.
#[derive(Serialize)]
pub(super) struct EditableGoal<'a> {
    goal: &'a str,
    limits: &'a BTreeMap<String, u32>,
    budget: Option<&'a GoalBudget>,
    until: Option<Timestamp>,
}

/// Returns the editable part of a goal.
pub(super) fn editable(goal: &Goal) -> EditableGoal<'_> {
    EditableGoal {
        goal: &goal.summary.goal,
        limits: &goal.limits,
        budget: goal.summary.budget.as_ref(),
        until: goal.summary.until,
    }
}
