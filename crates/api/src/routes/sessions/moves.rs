//! What moves a session on in its life, and calls off what runs in it

use axum::Json;
use model::{access::Permission, session::SessionEvent};
use wire::{Move, SessionCancelled, SessionView};

use crate::{
    caller::Caller,
    extract::{OptionalJson, Path},
    problem::Failure,
};

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $event:ident;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "sessions",
            params(("session" = String, Path, description = "Its id, the beginning of that, or its key")),
            request_body(content = Option<Move>, description = "Why"),
            responses((status = OK, description = "The session", body = SessionView)),
            security(("token" = ["sessions:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([session]): Path<1>,
            OptionalJson(why): OptionalJson<Move>,
        ) -> Result<Json<SessionView>, Failure> {
            let service = caller.may(Permission::SessionsWrite)?;
            let reason = why.reason.as_deref();
            let moved = service.move_session(&session, SessionEvent::$event, reason).await?;
            caller.wake();
            Ok(Json(moved))
        }
    )*};
}

moves! {
    /// Enable a session
    ///
    /// Enables a draft. Its waiting runs start.
    enable_session = "/sessions/{session}/enable", Enable;
    /// Pause a session
    ///
    /// Pauses a session: running turns go on, and all other runs wait until it is resumed.
    pause_session = "/sessions/{session}/pause", Pause;
    /// Resume a session
    ///
    /// Resumes a paused session. Its waiting runs start.
    resume_session = "/sessions/{session}/resume", Resume;
    /// Complete a session
    ///
    /// Completes a session: running turns go on to their end, waiting runs are cancelled, and new input is refused.
    complete_session = "/sessions/{session}/complete", Complete;
    /// Archive a session
    ///
    /// Archives a session that is completed or failed.
    archive_session = "/sessions/{session}/archive", Archive;
}

/// Cancel all runs of a session
///
/// Cancels each run of a session: at once if it waits, else as soon as its agent has stopped. The session keeps its
/// state.
#[utoipa::path(
    post,
    path = "/sessions/{session}/cancel",
    tag = "sessions",
    params(("session" = String, Path, description = "Its id, the beginning of that, or its key")),
    responses((status = OK, description = "How much was called off", body = SessionCancelled)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn cancel_session(
    caller: Caller,
    Path([session]): Path<1>,
) -> Result<Json<SessionCancelled>, Failure> {
    let service = caller.may(Permission::SessionsWrite)?;
    let cancelled = service.cancel_session(&session).await?;
    caller.wake();
    Ok(Json(cancelled))
}
