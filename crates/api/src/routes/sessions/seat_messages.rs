//! `/sessions/{session}/seat-messages`: messages to the seats of a session.

use api_types::{Page, SeatMessage, SeatMessageRequest};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{MessageId, access::Permission};
use serde::Deserialize;
use service::{SeatMessageOrder, SeatMessageQuery};
use utoipa::IntoParams;

use super::super::list_params;
use crate::{
    caller::Caller,
    extract::{Json, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The query parameters of the list of messages to the seats of a session.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListSeatMessagesParams {
    /// The name or the ID of the seat that receives the messages. Without it, the response has the messages to all seats.
    to: Option<String>,
    /// The order of the list: `oldest` begins with the first message, and `newest` with the last one. The default is
    /// `oldest`.
    #[param(inline)]
    order: Option<OrderParam>,
    /// The ID of the message after which the page begins in this order, such as `next` of the previous page. Without it,
    /// the response is the first page.
    #[param(value_type = Option<MessageId>)]
    since: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderParam {
    Oldest,
    Newest,
}

/// List the messages to the seats of a session
///
/// Returns the messages that agents and people have sent to the seats of a session, delivered or not, the oldest first
/// unless `order` is `newest`. Inputs and answers are in the transcript. Returns 404 if the session has no message `since`.
#[utoipa::path(
    get,
    path = "/sessions/{session}/seat-messages",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ListSeatMessagesParams
    ),
    responses((status = OK, description = "A page of messages", body = Page<SeatMessage>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_seat_messages(
    caller: Caller,
    Path([session]): Path<1>,
    Query(filter): Query<ListSeatMessagesParams>,
) -> Result<Answer<Page<SeatMessage>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let query = SeatMessageQuery {
        to: filter.to,
        order: match filter.order {
            None | Some(OrderParam::Oldest) => SeatMessageOrder::Oldest,
            Some(OrderParam::Newest) => SeatMessageOrder::Newest,
        },
        since: list_params::parse_cursor(filter.since.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Answer(service.seat_messages(&session, &query).await?))
}

/// Send a message to a seat of a session
///
/// Sends a message of a person to one seat of a session, or to all. Each receiving seat gets an input for its messages, unless
/// one waits already; it waits while the seat is busy and while the session is paused. One turn carries up to 20 messages.
/// Returns the messages, one for each seat. Returns 409 if the session accepts no more messages, or if a seat has 200
/// undelivered ones.
#[utoipa::path(
    post,
    path = "/sessions/{session}/seat-messages",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        IdempotencyKey
    ),
    request_body = SeatMessageRequest,
    responses((status = CREATED, description = "The messages", body = Page<SeatMessage>)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn send_seat_message(
    caller: Caller,
    Path([session]): Path<1>,
    idempotency_key: IdempotencyKey,
    request: Json<SeatMessageRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let by = caller.name().to_owned();
    let sent = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(MessageId::from_uuid);
        let sent = service
            .send_seat_message(&session, &request.value, &by, id)
            .await?;
        caller.wake_loops();
        Ok((StatusCode::CREATED, Page::whole(sent)))
    });
    sent.await
}

/// Acknowledge a message to a seat
///
/// Marks a message as delivered, so that no turn of its seat carries it any more. The first acknowledgement counts. If a turn
/// with messages has failed, the rest of the messages start the next turn.
#[utoipa::path(
    post,
    path = "/sessions/{session}/seat-messages/{message}/ack",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ("message" = String, Path, description = "The ID of the message")
    ),
    responses((status = OK, description = "The message, delivered", body = SeatMessage)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn acknowledge_seat_message(
    caller: Caller,
    Path([session, message]): Path<2>,
) -> Result<Answer<SeatMessage>, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let id = message
        .parse::<MessageId>()
        .map_err(|_| ApiError::not_found("message", &message))?;
    let acknowledged = service.acknowledge_seat_message(&session, id).await?;
    caller.wake_loops();
    Ok(Answer(acknowledged))
}
