//! Messages between the seats of a session, and their limits.

use crate::{ids::SeatId, text_enum::text_enum};

/// The longest message, in bytes.
pub const TEXT_BYTES: usize = 8192;
/// The highest number of messages that one turn carries.
pub const CARRIED_PER_TURN: usize = 20;
/// The highest number of bytes of the messages that one turn carries, unless the first alone has more.
pub const CARRIED_BYTES_PER_TURN: usize = 64 << 10;
/// The highest number of messages that an agent sends in one turn, in all attempts at its input. A message to all seats
/// counts once.
pub const SENT_PER_TURN: u32 = 20;
/// The highest number of undelivered messages of a seat.
pub const MAX_UNDELIVERED: u32 = 200;
/// The highest number of message turns in a row that only caused each other, in a session without a goal. A message that
/// would start a further one waits for an input from outside: of a person or of an automation. A goal has limits of its own.
pub const LONGEST_CHAIN: i64 = 6;
/// The content of an input that carries messages. The prompt has the messages themselves.
pub const INPUT_CONTENT: &str = "Messages from seats of this session.";
/// The reason for which a run ends whose messages were delivered by another turn, or acknowledged, before its turn began.
pub const NO_MESSAGE_LEFT: &str = "its messages were delivered or acknowledged before";

/// The sender of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender<S> {
    /// A seat of the session.
    Seat(S),
    /// A person, by name.
    Person(String),
}

/// A seat as the receivers of its messages know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSeat {
    /// The ID of the seat.
    pub id: SeatId,
    /// The name of the seat in its session.
    pub name: String,
    /// The task of the agent in the session.
    pub role: String,
}

text_enum! {
    /// The state of a message to a seat.
    SeatMessageStatus, "a state of a message to a seat" {
        /// No turn with the message has succeeded yet, and nobody has acknowledged it.
        Undelivered = "undelivered",
        /// The message starts no turn, because too many turns had no other cause than messages. The next input of a person or of
        /// an automation to the seat brings the message with it or, in a goal, the next turn of a task.
        Blocked = "blocked",
        /// A turn with the message has succeeded, or the message was acknowledged.
        Delivered = "delivered",
    }
}

/// Returns the number of the first messages that one turn carries, by the lengths of their texts in bytes.
pub fn count_fitting(lengths: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0_usize;
    let fitting = lengths.take_while(|length| {
        bytes = bytes.saturating_add(*length);
        bytes <= CARRIED_BYTES_PER_TURN
    });
    fitting.count().max(1)
}
