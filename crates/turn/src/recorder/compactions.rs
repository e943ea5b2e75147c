//! The compactions of a turn that later updates can change.

use std::collections::HashMap;

use model::turn::{Entry, SeatMemory};

/// The compactions of a turn, and the size of the context that they change.
#[derive(Default)]
pub(super) struct Compactions {
    /// The rows, by the agent's IDs.
    pub(super) rows: HashMap<String, Entry>,
    /// The number of tokens in the context, as the agent reported it last.
    pub(super) context_tokens: Option<u64>,
    /// The agent's ID of the compaction to which the next reported size belongs.
    pub(super) unmeasured: Option<String>,
}

impl Compactions {
    /// Returns the state at the beginning of a turn, with the size of the context that the seat's memory has.
    pub(super) fn of_memory(memory: &SeatMemory) -> Self {
        let usage = memory.acp_session_id.as_ref().and(memory.usage.as_ref());
        Self {
            context_tokens: usage.and_then(|usage| usage["used"].as_u64()),
            ..Self::default()
        }
    }
}
