//! `PATCH /sessions/{session}`: changes the title of a session.

use api_types::{Change, SessionEdit, SessionPatch, SessionView};
use axum::{Json as Answer, response::IntoResponse};
use model::access::Permission;

use super::show::editable;
use crate::{
    caller::Caller,
    etag::{self, IfMatch},
    extract::{Json, Path},
    problem::ApiError,
};

/// Change a session
///
/// Applies a merge patch (RFC 7396) to the title of a session. All other properties are fixed when the session is
/// created. Returns 412 if the title is no longer the one that the `ETag` in `If-Match` describes, or changes while
/// the server applies the patch.
#[utoipa::path(
    patch,
    path = "/sessions/{session}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = SessionPatch,
    responses((
        status = OK,
        description = "The session",
        body = SessionView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn edit_session(
    caller: Caller,
    Path([session]): Path<1>,
    seen: IfMatch,
    patch: Json<SessionPatch>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let view = service.session(&session).await?;
    let before = editable(&view);
    seen.check("the session", &before)?;
    let title = match patch.value.title {
        Change::Keep => before.title.clone(),
        Change::Reset => None,
        Change::To(title) => Some(title),
    };
    let to = SessionEdit { title };
    let view = service.edit_session(view.session.id, &before, &to).await?;
    Ok((etag::header(&editable(&view)), Answer(view)))
}
