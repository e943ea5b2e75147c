//! The rows of a transcript.

use model::{
    MessageId, RunId, SeatId, Timestamp, entity,
    transcript::Speaker,
    turn::{EntryKind, Role},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// The ID of the row.
    pub id: MessageId,
    /// The position of the row in the session.
    pub seq: i64,
    /// The run that the row belongs to. Null if there is none.
    pub run_id: Option<RunId>,
    /// The seat whose agent wrote the row. Null if a person or Matins wrote it, and if a server of an earlier version answers.
    #[serde(default)]
    pub seat_id: Option<SeatId>,
    /// The author of the text.
    pub role: MessageRole,
    /// The kind of the row.
    pub kind: MessageKind,
    /// The text.
    pub content: String,
    /// All other data of the row. Rows of thoughts, tool calls, plans, permission requests and notes by the agent have
    /// `answer_position`, their place in the answer of the run, in bytes of UTF-8. A tool call has `tool_kind`, `status`, `input`,
    /// `output`, `content` and `locations` as the agent sent them, and `started_at` and `ended_at`. A value that is too
    /// long is `{"omitted_bytes": N}`. Rows of earlier versions lack some of these. The prompt of a goal's task, which Matins
    /// writes, has `_to_name`, the name of its seat, and `_task_key`, the key of the task.
    pub metadata: Value,
    /// The instant at which the row was created.
    pub created_at: Timestamp,
}

impl Message {
    /// Returns the speaker that a transcript shows to people.
    pub fn speaker(&self) -> Speaker {
        Speaker::of(self.role.into(), self.kind.into(), &self.metadata)
    }
}

impl From<entity::Message> for Message {
    fn from(message: entity::Message) -> Self {
        let entity::Message {
            id,
            seq,
            run_id,
            seat_id,
            role,
            kind,
            content,
            metadata,
            created_at,
        } = message;
        Self {
            id,
            seq,
            run_id,
            seat_id,
            role: role.into(),
            kind: kind.into(),
            content,
            metadata,
            created_at,
        }
    }
}

macro_rules! same_variants {
    ($one:ident, $other:ident { $($variant:ident),* }) => {
        impl From<$one> for $other {
            fn from(one: $one) -> Self {
                match one { $($one::$variant => Self::$variant,)* }
            }
        }

        impl From<$other> for $one {
            fn from(other: $other) -> Self {
                match other { $($other::$variant => Self::$variant,)* }
            }
        }
    };
}

/// The author of a row of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person or the program that sent the input.
    User,
    /// The agent.
    Assistant,
    /// Matins.
    System,
    /// A tool.
    Tool,
}

same_variants!(
    Role,
    MessageRole {
        User,
        Assistant,
        System,
        Tool
    }
);

/// The kind of a row of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// An input or an answer.
    Message,
    /// A thought of the agent.
    Thought,
    /// A tool call, in its latest state.
    ToolCall,
    /// The plan of the agent, in its latest state.
    Plan,
    /// A permission request and its answer.
    Permission,
    /// A note about the turn: by Matins, or by the agent if the role is `assistant`. `notice` in the metadata of a note
    /// by the agent is `agent` or `compaction`.
    Notice,
}

same_variants!(
    EntryKind,
    MessageKind {
        Message,
        Thought,
        ToolCall,
        Plan,
        Permission,
        Notice
    }
);
