//! Memory entries: facts that agents and people keep under keys.

use model::{AutomationId, RunId, SessionId, Timestamp, memory};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A fact under a key, which belongs to an automation or to a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemoryEntry {
    /// The automation that owns the entry. Null if a session owns it.
    pub automation_id: Option<AutomationId>,
    /// The session that owns the entry. Null if an automation owns it.
    pub session_id: Option<SessionId>,
    /// The key, unique for the owner.
    pub key: String,
    /// The value.
    pub value: String,
    /// The author's trust in the value, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The number of the content, from 1. Each change of the value or of the confidence raises it.
    pub version: i64,
    /// The author of the present content: the name of the agent, the name of a person's token, or `socket` for the
    /// private socket of the data folder.
    pub author: String,
    /// The run in which an agent wrote the present content. Null if a person wrote it.
    pub run_id: Option<RunId>,
    /// `true` if that run has not succeeded, or not yet.
    pub unconfirmed: bool,
    /// The instant from which the entry is no longer returned. Null if there is none.
    pub expires_at: Option<Timestamp>,
    /// The instant at which the first content was written.
    pub created_at: Timestamp,
    /// The instant at which the present content was written.
    pub updated_at: Timestamp,
}

impl From<memory::MemoryEntry> for MemoryEntry {
    fn from(entry: memory::MemoryEntry) -> Self {
        let memory::MemoryEntry {
            id: _,
            owner,
            key,
            value,
            confidence,
            version,
            author,
            is_unconfirmed,
            expires_at,
            created_at,
            updated_at,
        } = entry;
        Self {
            automation_id: owner.automation(),
            session_id: owner.session(),
            key,
            value,
            confidence,
            version,
            author: author.name().to_owned(),
            run_id: author.run(),
            unconfirmed: is_unconfirmed,
            expires_at,
            created_at,
            updated_at,
        }
    }
}

/// The content of a memory entry that a person writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryEntryRequest {
    /// The value, at most 16 KiB.
    #[schema(max_length = 16384)]
    pub value: String,
    /// The trust in the value, from 0 to 1. The default is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: Option<f64>,
    /// The instant from which the entry is no longer returned. Without it, the entry stays until it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
