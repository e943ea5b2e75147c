//! The contents of memory entries that are written.

use model::Timestamp;

/// The content of a memory entry that is written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemoryEntry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The author's trust in the value, from 0 to 1.
    pub confidence: f64,
    /// The instant from which the entry is no longer returned.
    pub expires_at: Option<Timestamp>,
}
