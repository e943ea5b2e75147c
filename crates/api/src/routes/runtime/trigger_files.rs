//! The request of a run for a trigger file of another program.

use axum::Json;
use runtime_api::trigger::{FireReply, FireRequest};

use crate::{
    problem::ApiError,
    runtime_caller::{Body, RuntimeCaller},
};

/// Creates the run that a trigger file requests. A refusal is a response and not an error, so that the runtime moves the
/// file away only because of the file and never because of its own token or version.
pub(super) async fn fire(
    caller: RuntimeCaller,
    Body(request): Body<FireRequest>,
) -> Result<Json<FireReply>, ApiError> {
    caller.require_known_time()?;
    let payload = request.payload();
    let fired = caller
        .runtime
        .fire_by_file(&request.automation, &payload, &request.key);
    Ok(Json(match fired.await {
        Ok(run) => {
            caller.wake_loops();
            FireReply::Fired { run }
        }
        Err(error) if error.kind().is_refusal() => {
            let hint = error.hint().map(|hint| format!(" ({hint})"));
            let reason = format!("{error}{}", hint.unwrap_or_default());
            FireReply::Refused { reason }
        }
        Err(error) => return Err(error.into()),
    }))
}
