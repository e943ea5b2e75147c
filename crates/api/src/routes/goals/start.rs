//! `POST /goals`: starts a goal.

use api_types::{Goal, GoalRequest};
use axum::response::Response;
use http::StatusCode;
use model::{SessionId, access::Permission};

use crate::{caller::Caller, extract::Json, idempotency::IdempotencyKey, problem::ApiError};

/// Start a goal
///
/// Creates a background session in which a team of agents works on one result, and starts the turn of the planner. The team
/// is one that ships with Matins, or the text of a file of your own. The request makes nothing if the team, an agent, the
/// directory, a limit or the budget cannot be accepted. Goals run on hosts, so an instance that is a directory is refused.
#[utoipa::path(
    post,
    path = "/goals",
    tag = "goals",
    params(IdempotencyKey),
    request_body = GoalRequest,
    responses((status = CREATED, description = "The goal", body = Goal)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn start_goal(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<GoalRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let started = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(SessionId::from_uuid);
        let goal = service.start_goal(&request.value, id).await?;
        caller.wake_loops();
        Ok((StatusCode::CREATED, goal))
    });
    started.await
}
