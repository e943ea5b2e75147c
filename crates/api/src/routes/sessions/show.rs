//! `GET /sessions/{session}`: reads a session and its seats.

use api_types::{Page, Seat, SessionEdit, SessionView};
use axum::{Json, response::IntoResponse};
use model::{SeatId, access::Permission};

use crate::{caller::Caller, etag, extract::Path, problem::ApiError};

/// Show a session
///
/// Returns one session with its seats, the names of the automations that are bound to it, and its runs that have not
/// ended.
#[utoipa::path(
    get,
    path = "/sessions/{session}",
    tag = "sessions",
    params(("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key")),
    responses((
        status = OK,
        description = "The session",
        body = SessionView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_session(
    caller: Caller,
    Path([session]): Path<1>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let view = service.session(&session).await?;
    Ok((etag::header(&editable(&view)), Json(view)))
}

/// Returns the part of a session that a request can change, from which the entity tag is computed.
pub(super) fn editable(view: &SessionView) -> SessionEdit {
    SessionEdit {
        title: view.session.title.clone(),
    }
}

/// List the seats of a session
///
/// Returns all seats of a session on one page.
#[utoipa::path(
    get,
    path = "/sessions/{session}/seats",
    tag = "sessions",
    params(("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key")),
    responses((status = OK, description = "All seats of the session on one page", body = Page<Seat>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_seats(
    caller: Caller,
    Path([session]): Path<1>,
) -> Result<Json<Page<Seat>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let view = service.session(&session).await?;
    Ok(Json(Page::whole(view.seats)))
}

/// Show a seat of a session
///
/// Returns one seat of a session: an agent with its settings and with the ID of its own session, which is its memory.
#[utoipa::path(
    get,
    path = "/sessions/{session}/seats/{seat}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ("seat" = String, Path, description = "The name or the ID of the seat")
    ),
    responses((status = OK, description = "The seat", body = Seat)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_seat(
    caller: Caller,
    Path([session, seat]): Path<2>,
) -> Result<Json<Seat>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let view = service.session(&session).await?;
    let id = seat.parse::<SeatId>().ok();
    let mut seats = view.seats;
    let named = seats.iter().position(|found| found.name == seat);
    let found = named.or_else(|| seats.iter().position(|found| Some(found.id) == id));
    found
        .map(|index| Json(seats.swap_remove(index)))
        .ok_or_else(|| ApiError::not_found("seat", &seat))
}
