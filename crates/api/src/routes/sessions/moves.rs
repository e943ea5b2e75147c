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
    /// A draft becomes active, and what waited in it starts.
    enable_session = "/sessions/{session}/enable", Enable;
    /// Pause a session
    ///
    /// Turns that run go on; everything else waits until it is resumed.
    pause_session = "/sessions/{session}/pause", Pause;
    /// Resume a session
    ///
    /// What waited in it starts.
    resume_session = "/sessions/{session}/resume", Resume;
    /// Complete a session
    ///
    /// It is done: turns that run go on to their end, what waits is called off, and nothing more is taken.
    complete_session = "/sessions/{session}/complete", Complete;
    /// Archive a session
    ///
    /// One that is done or failed is put away.
    archive_session = "/sessions/{session}/archive", Archive;
}

/// Call off everything in a session
///
/// What waits ends at once, what runs as soon as its agent has stopped. The session stays as it is.
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
