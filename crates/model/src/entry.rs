//! The author and the kind of a row of a transcript.

use crate::text_enum::text_enum;

text_enum! {
    /// The author of a row of a transcript.
    Role, "a role" {
        /// The author of the input: a person or an automation.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// Matins.
        System = "system",
        /// A tool of the agent, or another seat that sent a message.
        Tool = "tool",
    }
}

text_enum! {
    /// The kind of a row of a transcript.
    EntryKind, "a kind of message" {
        /// An input or an answer.
        Message = "message",
        /// A thought of the agent.
        Thought = "thought",
        /// A tool call, in its latest state.
        ToolCall = "tool_call",
        /// The agent's plan, in its latest state.
        Plan = "plan",
        /// A permission request and its decision.
        Permission = "permission",
        /// A notice about the turn: of Matins, or, with the role of the agent, of the agent.
        Notice = "notice",
    }
}
