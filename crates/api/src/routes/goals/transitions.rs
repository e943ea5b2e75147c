//! The operations that move a goal to another state.

use api_types::{Goal, GoalMove};
use axum::Json;
use model::access::Permission;

use super::goal_param::GOAL_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, problem::ApiError};

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $to:ident;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "goals",
            params(("goal" = String, Path, description = GOAL_PARAM_DESCRIPTION)),
            responses((status = OK, description = "The goal", body = Goal)),
            security(("token" = ["sessions:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([goal]): Path<1>,
        ) -> Result<Json<Goal>, ApiError> {
            let service = caller.authorize(Permission::SessionsWrite)?;
            let moved = service.move_goal(&goal, GoalMove::$to).await?;
            caller.wake_loops();
            Ok(Json(moved))
        }
    )*};
}

moves! {
    /// Start a draft of a goal
    ///
    /// Starts a goal that is a draft. The planner gets its first turn. Returns 409 for a goal in any other state.
    start_draft = "/goals/{goal}/start", Start;
    /// Pause a goal
    ///
    /// Pauses an active goal. Turns under way may end, and no other one starts. Returns 409 for a goal in any other state.
    pause_goal = "/goals/{goal}/pause", Pause;
    /// Resume a goal
    ///
    /// Resumes a paused goal, or approves its first plan. Checks and reviews that could not run get another attempt. The
    /// planner gets a turn if the goal has no plan, or was sent back. An active goal stays so. Returns 409 for a draft and for
    /// a goal that is over.
    resume_goal = "/goals/{goal}/resume", Resume;
    /// Cancel a goal
    ///
    /// Cancels a goal and its open tasks. Waiting runs end at once, and running ones as soon as their agents have stopped.
    /// Returns 409 for a goal that is over.
    cancel_goal = "/goals/{goal}/cancel", Cancel;
    /// Request another plan
    ///
    /// Requests a turn of the planner that changes the plan. Returns 409 if the goal is over, or has had as many plans as its
    /// limit `replans` allows.
    replan_goal = "/goals/{goal}/replan", Replan;
}
