//! What a row of a transcript is, and whose words it holds.

use crate::text_enum::text_enum;

text_enum! {
    /// Whose words a row of a transcript holds.
    Role, "a role" {
        /// Those of whoever gave the input.
        User = "user",
        /// The agent's.
        Assistant = "assistant",
        /// Those of Matins.
        System = "system",
        /// A tool's.
        Tool = "tool",
    }
}

text_enum! {
    /// What a row of a transcript is.
    EntryKind, "a kind of message" {
        /// An input or an answer.
        Message = "message",
        /// The agent's thoughts.
        Thought = "thought",
        /// A tool call, in its latest state.
        ToolCall = "tool_call",
        /// The agent's plan, in its latest state.
        Plan = "plan",
        /// A permission request and its answer.
        Permission = "permission",
        /// Something that Matins has to say about the turn.
        Notice = "notice",
    }
}
