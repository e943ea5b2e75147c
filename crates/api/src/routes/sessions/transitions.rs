//! The operations that move a session to another state, and the one that cancels its runs.

use api_types::{SessionCancelled, SessionView, StateChangeRequest};
use axum::Json;
use model::{access::Permission, session::SessionEvent};

use crate::{
    caller::Caller,
    extract::{OptionalJson, Path},
    problem::ApiError,
};

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $event:ident;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "sessions",
            params(("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key")),
            request_body(content = Option<StateChangeRequest>, description = "The reason for the move"),
            responses((status = OK, description = "The session", body = SessionView)),
            security(("token" = ["sessions:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([session]): Path<1>,
            OptionalJson(why): OptionalJson<StateChangeRequest>,
        ) -> Result<Json<SessionView>, ApiError> {
            let service = caller.authorize(Permission::SessionsWrite)?;
            let reason = why.reason.as_deref();
            let moved = service.move_session(&session, SessionEvent::$event, reason).await?;
            caller.wake_loops();
            Ok(Json(moved))
        }
    )*};
}

moves! {
    /// Enable a session
    ///
    /// Enables a session that is a draft. Its waiting runs start. Returns 409 for a session in any other state.
    enable_session = "/sessions/{session}/enable", Enable;
    /// Pause a session
    ///
    /// Pauses an active session. Running turns continue, and all other runs wait until the session is resumed.
    /// Returns 409 for a session in any other state.
    pause_session = "/sessions/{session}/pause", Pause;
    /// Resume a session
    ///
    /// Resumes a paused session. Its waiting runs start. Returns 409 for a session in any other state.
    resume_session = "/sessions/{session}/resume", Resume;
    /// Complete a session
    ///
    /// Completes an active session. Running turns continue to their end, waiting runs are cancelled, and new inputs
    /// are refused. Returns 409 for a session in any other state.
    complete_session = "/sessions/{session}/complete", Complete;
    /// Archive a session
    ///
    /// Archives a session that is done or failed. Returns 409 for a session in any other state.
    archive_session = "/sessions/{session}/archive", Archive;
}

/// Cancel all runs of a session
///
/// Cancels each run of a session that has not ended. A waiting run ends at once, and a running one as soon as its
/// agent has stopped. The session keeps its state and accepts new inputs.
#[utoipa::path(
    post,
    path = "/sessions/{session}/cancel",
    tag = "sessions",
    params(("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key")),
    responses((status = OK, description = "The number of cancelled runs", body = SessionCancelled)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn cancel_session(
    caller: Caller,
    Path([session]): Path<1>,
) -> Result<Json<SessionCancelled>, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let cancelled = service.cancel_session(&session).await?;
    caller.wake_loops();
    Ok(Json(cancelled))
}
