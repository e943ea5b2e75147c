//! `POST /sessions/{session}/messages`: sends a message to a session.

use api_types::{Run, SendMessageRequest};
use axum::response::Response;
use http::StatusCode;
use model::{InputId, access::Permission};

use crate::{
    caller::Caller,
    extract::{Json, Path},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// Send a message to a session
///
/// Creates a run for the message on a seat of the session, by default on its entry seat, and returns the run. The run
/// waits while the seat is busy, and while the session is a draft or paused. Turns of other seats do not delay it. Read
/// the trace of the session to follow the run. Returns 409 if the session accepts no more inputs.
#[utoipa::path(
    post,
    path = "/sessions/{session}/messages",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        IdempotencyKey
    ),
    request_body = SendMessageRequest,
    responses((status = ACCEPTED, description = "The run of the message", body = Run)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn send_message(
    caller: Caller,
    Path([session]): Path<1>,
    idempotency_key: IdempotencyKey,
    request: Json<SendMessageRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let sent = idempotency_key.create(&caller, &request, async |input| {
        let input = input.map(InputId::from_uuid);
        let request = &request.value;
        let run = service
            .send_message_to_seat(&session, request.seat.as_deref(), &request.text, input)
            .await?;
        caller.wake_loops();
        Ok((StatusCode::ACCEPTED, Run::from(run)))
    });
    sent.await
}
