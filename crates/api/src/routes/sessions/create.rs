//! `POST /sessions`: creates a session.

use api_types::{Session, SessionRequest};
use axum::response::Response;
use http::StatusCode;
use model::{SessionId, access::Permission};

use crate::{caller::Caller, extract::Json, idempotency::IdempotencyKey, problem::ApiError};

/// Create a session
///
/// Creates a session with one agent, or with several `seats`, each of which has an agent, a name and a memory of its own.
/// The server starts an agent with the first turn of its seat, which is for the first message to the seat or for the first
/// run of a bound automation on the entry seat.
#[utoipa::path(
    post,
    path = "/sessions",
    tag = "sessions",
    params(IdempotencyKey),
    request_body = SessionRequest,
    responses((status = CREATED, description = "The session", body = Session)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn create_session(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<SessionRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(SessionId::from_uuid);
        let session = service.create_session(&request.value, id).await?;
        Ok((StatusCode::CREATED, Session::from(session)))
    });
    created.await
}
