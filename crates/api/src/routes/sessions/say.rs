//! `POST /sessions/{session}/messages`: sends a message to a session.

use api_types::{Run, Words};
use axum::response::Response;
use http::StatusCode;
use model::{InputId, access::Permission};

use crate::{
    caller::Caller,
    extract::{Json, Path},
    once::Once,
    problem::Failure,
};

/// Send a message to a session
///
/// Creates a run for the message on the entry seat of the session and returns the run. The run waits while the seat
/// is busy, and while the session is a draft or paused. Read the trace of the session to follow the run. Returns 409
/// if the session accepts no more inputs.
#[utoipa::path(
    post,
    path = "/sessions/{session}/messages",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "Its id, the beginning of that, or its key"),
        Once
    ),
    request_body = Words,
    responses((status = ACCEPTED, description = "The run that the words became", body = Run)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn say(
    caller: Caller,
    Path([session]): Path<1>,
    once: Once,
    request: Json<Words>,
) -> Result<Response, Failure> {
    let service = caller.may(Permission::SessionsWrite)?;
    let said = once.create(&caller, &request, async |input| {
        let input = input.map(InputId::from_uuid);
        let run = service.say(&session, &request.value.words, input).await?;
        caller.wake();
        Ok((StatusCode::ACCEPTED, Run::from(run)))
    });
    said.await
}
