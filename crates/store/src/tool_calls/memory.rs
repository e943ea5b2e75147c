//! The memory of agents: entries that the agent of a running turn writes, reads and deletes.

use model::{
    AutomationId, MemoryEntryId, SessionId, TenantId, Timestamp,
    memory::{MemoryAuthor, MemoryEntry, MemoryOwner},
    session::SessionStatus,
};

use super::{ToolCaller, check_not_cancelled, check_session_status, turn_params};
use crate::{
    Error, Scope,
    batches::RememberRequest,
    boxed,
    database::{Dialect, Tx},
    locks, memory,
    new_memory_entry::NewMemoryEntry,
    rows,
    store::Store,
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

/// The part of a turn that the memory of its agent depends on.
struct MemoryTurn {
    tenant: TenantId,
    session: SessionId,
    session_status: SessionStatus,
    session_key: Option<String>,
    /// `true` if the turn was asked to stop.
    is_cancelled: bool,
    agent_name: String,
    /// The automation of the run. `None` if the input is no occurrence, or if the automation is deleted: a turn goes on after
    /// that, but no one finds entries of that automation.
    automation: Option<AutomationId>,
}

impl MemoryTurn {
    async fn read(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<Self, Error> {
        let found = tx
            .fetch_optional(sql!("tool_calls/memory_turn"), turn_params(caller, now))
            .await?;
        let row = found.ok_or(Error::RunOver { run: caller.run })?;
        Ok(Self {
            tenant: row.get("tenant_id")?,
            session: row.get("session_id")?,
            session_status: row.parse("session_state")?,
            session_key: row.optional("session_key")?,
            is_cancelled: row.optional::<Timestamp>("cancel_requested_at")?.is_some(),
            agent_name: row.get("agent_name")?,
            automation: row.optional("automation_id")?,
        })
    }

    /// Locks the turn and the owner of the entries that its agent writes, and reads the turn.
    ///
    /// # Errors
    ///
    /// Refuses a turn that may write no more: its session is closed, or it was asked to stop.
    async fn lock(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<Self, Error> {
        locks::lock_memory_of_run(tx, caller.run).await?;
        let turn = Self::read(tx, caller, now).await?;
        check_session_status(turn.session, turn.session_status, "change its memory")?;
        check_not_cancelled(caller.run, turn.is_cancelled)?;
        Ok(turn)
    }

    /// Returns the owner of the entries that the agent writes: the automation of the run, or else the session.
    fn owner(&self) -> MemoryOwner {
        match self.automation {
            Some(automation) => MemoryOwner::Automation(automation),
            None => MemoryOwner::Session(self.session),
        }
    }
}

impl Store {
    /// Writes an entry for the agent of a running turn, and returns it. A repetition changes nothing but the end of the
    /// entry's lifetime.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, [`Error::Refused`] if the session
    /// is closed, and [`Error::LimitReached`] if the turn has written, or the owner has, too many entries.
    #[boxed]
    pub async fn remember(
        &self,
        caller: &ToolCaller,
        new: &NewMemoryEntry,
        now: Timestamp,
    ) -> Result<MemoryEntry, Error> {
        let request = RememberRequest {
            caller: caller.clone(),
            new: new.clone(),
            now,
        };
        // PostgreSQL makes the commits of several connections durable together. In a batch, each call would also wait for the
        // locks of all others.
        if self.db.dialect() == Dialect::Postgres {
            return self.remember_alone(&request).await;
        }
        self.batches
            .remember
            .submit(self, request, |store, all| {
                Box::pin(store.remember_batch(all))
            })
            .await?
    }

    async fn remember_alone(&self, request: &RememberRequest) -> Result<MemoryEntry, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move { write_for_turn(self, tx, request).await })
        })
        .await
    }

    /// Writes entries for the agents of running turns in one transaction, one after the other. Returns one result for each
    /// request, in order: a refusal of one request does not affect the others.
    async fn remember_batch(
        &self,
        all: &[RememberRequest],
    ) -> Result<Vec<Result<MemoryEntry, Error>>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let mut results = Vec::with_capacity(all.len());
                for request in all {
                    results.push(match write_for_turn(self, tx, request).await {
                        // A refused request has written no entry.
                        Err(
                            refusal @ (Error::RunOver { .. }
                            | Error::Refused(_)
                            | Error::LimitReached { .. }),
                        ) => Err(refusal),
                        written => Ok(written?),
                    });
                }
                Ok(results)
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
        let turn = MemoryTurn::read(&mut tx, caller, now).await?;
        let patterns = SearchPatterns::new(search.text.as_deref(), MemoryEntryId::PREFIX);
        let found = tx
            .fetch_all(
                sql!("memory/recall"),
                params! { "memory/recall";
                    tenant: turn.tenant,
                    run: caller.run,
                    session: turn.session,
                    session_key: turn.session_key.as_deref(),
                    automation: turn.automation,
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
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, and [`Error::Refused`] if the
    /// session is closed.
    #[boxed]
    pub async fn forget(
        &self,
        caller: &ToolCaller,
        key: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = MemoryTurn::lock(tx, caller, now).await?;
                memory::delete(tx, turn.owner(), key, now).await
            })
        })
        .await
    }
}

/// Writes an entry for the agent of a running turn, and returns it.
async fn write_for_turn(
    store: &Store,
    tx: &mut Tx,
    request: &RememberRequest,
) -> Result<MemoryEntry, Error> {
    let RememberRequest { caller, new, now } = request;
    let turn = MemoryTurn::lock(tx, caller, *now).await?;
    let owner = turn.owner();
    let author = MemoryAuthor::Agent {
        name: turn.agent_name,
        run: caller.run,
    };
    memory::write(store, tx, (turn.tenant, owner), new, &author, *now).await
}
