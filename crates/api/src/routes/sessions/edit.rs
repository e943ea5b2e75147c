//! `PATCH /sessions/{session}`

use axum::{Json as Answer, response::IntoResponse};
use model::access::Permission;
use serde_json::{Map, Value};
use wire::{SessionEdit, SessionView};

use super::show::editable;
use crate::{
    caller::Caller,
    etag::{self, IfMatch},
    extract::{Json, Path},
    problem::Failure,
};

/// Change a session
///
/// What lists call it; everything else about it is what it was begun with.
#[utoipa::path(
    patch,
    path = "/sessions/{session}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "Its id, the beginning of that, or its key"),
        ("If-Match" = Option<String>, Header, description = "The ETag of what was seen")
    ),
    request_body = SessionEdit,
    responses((
        status = OK,
        description = "The session",
        body = SessionView,
        headers(("ETag" = String, description = "What of it can be edited"))
    )),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn edit_session(
    caller: Caller,
    Path([session]): Path<1>,
    seen: IfMatch,
    edit: Json<SessionEdit>,
) -> Result<impl IntoResponse, Failure> {
    let service = caller.may(Permission::SessionsWrite)?;
    let view = service.session(&session).await?;
    let before = editable(&view);
    seen.check("the session", &before)?;
    // A merge patch (RFC 7396): what is not named stays.
    let named: Map<String, Value> = serde_json::from_slice(&edit.bytes).unwrap_or_default();
    let to = if named.contains_key("title") {
        edit.value
    } else {
        before.clone()
    };
    let view = service.edit_session(view.session.id, &before, &to).await?;
    Ok((etag::header(&editable(&view)), Answer(view)))
}
