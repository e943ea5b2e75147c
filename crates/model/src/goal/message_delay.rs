//! The delay of messages between seats.

use crate::text_enum::text_enum;

text_enum! {
    /// The reason for which messages between seats start no turn.
    MessageDelay, "a reason of messages that wait" {
        /// The goal starts no turn now: it is paused, or out of budget or time.
        NotActive = "not_active",
        /// Two seats took too many message turns alternately.
        AlternatingTurns = "alternating_turns",
        /// The goal has had too many message turns.
        MessageTurns = "message_turns",
    }
}
