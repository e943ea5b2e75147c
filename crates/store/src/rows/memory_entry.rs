//! Conversion from a row to a memory entry.

use model::memory::{MemoryAuthor, MemoryEntry, MemoryOwner};

use crate::{Error, database::Row};

/// Returns a memory entry.
pub(crate) fn memory_entry(row: &Row) -> Result<MemoryEntry, Error> {
    let name: String = row.get("author")?;
    Ok(MemoryEntry {
        id: row.get("id")?,
        owner: match row.optional("automation_id")? {
            Some(automation) => MemoryOwner::Automation(automation),
            None => MemoryOwner::Session(row.get("session_id")?),
        },
        key: row.get("key")?,
        value: row.get("value")?,
        confidence: row.get("confidence")?,
        version: row.get("version")?,
        author: match row.optional("run_id")? {
            Some(run) => MemoryAuthor::Agent { name, run },
            None => MemoryAuthor::Person { name },
        },
        is_unconfirmed: row.get("is_unconfirmed")?,
        expires_at: row.optional("expires_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
