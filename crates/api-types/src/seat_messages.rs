//! Messages between the seats of a session.

use model::{MessageId, SeatId, Timestamp, seat_message::SeatMessageStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A message to one seat of a session, from another seat or from a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeatMessage {
    /// The ID of the message.
    pub id: MessageId,
    /// The position of the message in the transcript of the session.
    pub seq: i64,
    /// The seat that sent the message. Null for a person.
    pub from_seat_id: Option<SeatId>,
    /// The name of the seat or of the person that sent the message.
    pub from: String,
    /// The seat that receives the message.
    pub to_seat_id: SeatId,
    /// The name of the seat that receives the message.
    pub to: String,
    /// The text.
    pub text: String,
    /// The state of the message.
    pub state: SeatMessageStatus,
    /// The instant at which the message was sent.
    pub created_at: Timestamp,
    /// The instant at which the message was delivered. Null until then.
    pub delivered_at: Option<Timestamp>,
}

/// The message of a person to one seat of a session, or to all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatMessageRequest {
    /// The name or the ID of the seat that receives the message, or `all` for all seats of the session.
    pub to: String,
    /// The text: at most 8 KiB.
    #[schema(min_length = 1)]
    pub text: String,
}
