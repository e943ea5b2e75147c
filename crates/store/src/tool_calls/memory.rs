//! The memory of agents: entries that the agent of a running turn writes, reads and deletes.

use model::{
    MemoryEntryId, Timestamp,
    automation::AutomationState,
    memory::{MemoryAuthor, MemoryEntry, MemoryOwner},
};

use super::{CallingTurn, ToolCaller, lock_turn, read_turn};
use crate::{
    Error, NewMemoryEntry, Scope, boxed, database::Tx, locks, memory, rows, store::Store,
    text_search::SearchPatterns,
};

/// The entries that an agent asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemorySearch {
    /// The key.
    pub key: Option<String>,
    /// The beginning of the key.
    pub prefix: Option<String>,
    /// A text in the key or in the value, without regard to case.
    pub text: Option<String>,
    /// The least confidence.
    pub min_confidence: Option<f64>,
    /// The highest number of entries.
    pub limit: u32,
}

/// An entry as the agent of a turn reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledEntry {
    /// The entry.
    pub entry: MemoryEntry,
    /// The name of the automation that owns the entry. `None` if the session owns it.
    pub automation: Option<String>,
}

impl CallingTurn {
    /// Returns the owner of the entries that the agent writes: the automation of the run, or else the session.
    pub fn memory_owner(&self) -> MemoryOwner {
        match &self.automation {
            // A turn goes on after its automation is deleted, but nobody would find entries of that automation.
            Some(automation) if automation.state != AutomationState::Deleted => {
                MemoryOwner::Automation(automation.id)
            }
            _ => MemoryOwner::Session(self.session.id),
        }
    }
}

impl Store {
    /// Writes an entry for the agent of a running turn, and returns it. A repetition changes nothing but the end of the
    /// entry's lifetime.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], and [`Error::LimitReached`] if the turn has written, or the
    /// owner has, too many entries.
    #[boxed]
    pub async fn remember(
        &self,
        caller: &ToolCaller,
        new: &NewMemoryEntry,
        now: Timestamp,
    ) -> Result<MemoryEntry, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = lock_turn_and_session(tx, caller, now).await?;
                let author = MemoryAuthor::Agent {
                    name: turn.agent.name.clone(),
                    run: turn.run,
                };
                let owner = turn.memory_owner();
                memory::write(self, tx, (turn.tenant, owner), new, &author, now).await
            })
        })
        .await
    }

    /// Lists the entries that the agent of a running turn may read, the last written first: those of the automation of
    /// its run, of its session, and of the automations that run in the session.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`].
    #[boxed]
    pub async fn recall(
        &self,
        caller: &ToolCaller,
        search: &MemorySearch,
        now: Timestamp,
    ) -> Result<Vec<RecalledEntry>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let turn = read_turn(&mut tx, caller, now).await?;
        let patterns = SearchPatterns::new(search.text.as_deref(), MemoryEntryId::PREFIX);
        let found = tx
            .fetch_all(
                sql!("memory/recall"),
                params! { "memory/recall";
                    tenant: turn.tenant,
                    run: turn.run,
                    session: turn.session.id,
                    session_key: turn.session.session_key.as_deref(),
                    automation: turn.memory_owner().automation(),
                    now: now,
                    key: search.key.as_deref(),
                    prefix: search.prefix.as_deref(),
                    pattern: patterns.as_written,
                    lower_pattern: patterns.lower,
                    min_confidence: search.min_confidence,
                    limit: search.limit,
                },
            )
            .await?;
        found
            .iter()
            .map(|row| {
                Ok(RecalledEntry {
                    entry: rows::memory_entry(row)?,
                    automation: row.optional("automation_name")?,
                })
            })
            .collect()
    }

    /// Deletes an entry of the owner for which the agent of a running turn writes. Returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`].
    #[boxed]
    pub async fn forget(
        &self,
        caller: &ToolCaller,
        key: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = lock_turn_and_session(tx, caller, now).await?;
                memory::delete(tx, turn.memory_owner(), key, now).await
            })
        })
        .await
    }
}

/// Locks the turn and its session. Entries are counted under the lock of their owner, which is the automation of the turn
/// or the session.
async fn lock_turn_and_session(
    tx: &mut Tx,
    caller: &ToolCaller,
    now: Timestamp,
) -> Result<CallingTurn, Error> {
    let turn = lock_turn(tx, caller, now).await?;
    if let MemoryOwner::Session(session) = turn.memory_owner() {
        locks::lock_session(tx, session).await?;
    }
    Ok(turn)
}
