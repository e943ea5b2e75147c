//! The writes of a turn while it is under way.

use model::{
    MessageId,
    turn::{self, EntryKind, HeartbeatReply, Role, WriteOutcome},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{accounts::Accounts, word::Word};

/// The response to a fenced write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum WriteReply {
    /// The write is committed.
    Committed,
    /// The worker does not have the run, and nothing was written.
    Fenced,
}

impl From<WriteOutcome> for WriteReply {
    fn from(outcome: WriteOutcome) -> Self {
        match outcome {
            WriteOutcome::Committed => Self::Committed,
            WriteOutcome::Fenced => Self::Fenced,
        }
    }
}

impl From<WriteReply> for WriteOutcome {
    fn from(reply: WriteReply) -> Self {
        match reply {
            WriteReply::Committed => Self::Committed,
            WriteReply::Fenced => Self::Fenced,
        }
    }
}

/// The response to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum HeartbeatResponse {
    /// The turn must be cancelled.
    Cancel {
        /// The reason.
        reason: String,
    },
    /// The worker does not have the run, and must stop at once.
    Fenced,
    /// The turn continues.
    #[serde(other)]
    Continue,
}

impl From<HeartbeatReply> for HeartbeatResponse {
    fn from(reply: HeartbeatReply) -> Self {
        match reply {
            HeartbeatReply::Continue => Self::Continue,
            HeartbeatReply::Cancel(reason) => Self::Cancel { reason },
            HeartbeatReply::Fenced => Self::Fenced,
        }
    }
}

impl From<HeartbeatResponse> for HeartbeatReply {
    fn from(response: HeartbeatResponse) -> Self {
        match response {
            HeartbeatResponse::Continue => Self::Continue,
            HeartbeatResponse::Cancel { reason } => Self::Cancel(reason),
            HeartbeatResponse::Fenced => Self::Fenced,
        }
    }
}

/// The request to write rows of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRequest {
    /// The rows. A row whose ID already exists is replaced.
    pub entries: Vec<Entry>,
}

/// A row of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    id: MessageId,
    role: Word,
    kind: Word,
    content: String,
    #[serde(default)]
    metadata: Value,
}

impl From<Entry> for turn::Entry {
    fn from(entry: Entry) -> Self {
        let Entry {
            id,
            role,
            kind,
            content,
            metadata,
        } = entry;
        Self {
            id,
            role: role.or(Role::System),
            kind: kind.or(EntryKind::Notice),
            content,
            metadata,
        }
    }
}

impl From<turn::Entry> for Entry {
    fn from(entry: turn::Entry) -> Self {
        let turn::Entry {
            id,
            role,
            kind,
            content,
            metadata,
        } = entry;
        Self {
            id,
            role: Word::of(role),
            kind: Word::of(kind),
            content,
            metadata,
        }
    }
}

/// The request to append to the live text for viewers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTextRequest {
    /// The position of the text, in bytes.
    pub position: u64,
    /// The text.
    pub text: String,
}

/// The request to write the usage of the turn so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRequest {
    /// The usage, as the agent reports it.
    pub usage: Value,
}

/// The response to a write of the usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReply {
    /// The budgets that limit the turn from now on. Null if the worker does not have the run.
    pub accounts: Option<Accounts>,
}
