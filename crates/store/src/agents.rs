//! Agents: their configurations and the capabilities that they offer, by name. The table is called `harnesses`.

mod removal;

use model::{
    AgentId, TenantId, Timestamp,
    agent::{Agent, AgentConfig, OfferedCapabilities},
};

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    rows,
    store::Store,
    stored::{self, StoredAgent},
};

pub(crate) use removal::keep_agent;
pub use removal::{AgentRemoval, UsingAutomation, UsingSession};

impl Store {
    /// Creates an agent, or replaces the configuration and the offers of the agent with that name. A removed agent with
    /// that name exists again.
    #[boxed]
    pub async fn put_agent(
        &self,
        tenant: TenantId,
        name: &str,
        config: &AgentConfig,
        offers: Option<&OfferedCapabilities>,
        now: Timestamp,
    ) -> Result<Agent, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let found = tx
                    .fetch_optional(sql!("harnesses/by_name"), params![tenant, name])
                    .await?;
                // Replace a corrupt row: it has no unknown keys that could be kept.
                let found = found
                    .filter(|row| !matches!(rows::agent(row), Err(error) if error.is_corrupt()));
                if let Some(found) = found {
                    let before = lock_agent(tx, tenant, found.get("id")?).await?;
                    return write_agent(tx, tenant, &before, config, offers, now).await;
                }
                // If another transaction has inserted the name in the meantime, the statement updates that row.
                let id = AgentId::generate(now, self.ids());
                let stored = stored::write::<StoredAgent>(&(config.clone(), offers.cloned()));
                let (format, needed) = (stored::DOCUMENT_FORMAT, stored.needs_format);
                let params = params! { "harnesses/put";
                    id: id,
                    tenant: tenant,
                    name: name,
                    config: &stored.value,
                    now: now,
                    format: format,
                    needs_format: needed,
                };
                let row = tx.fetch_one(sql!("harnesses/put"), params).await?;
                rows::agent(&row)
            })
        })
        .await
    }

    /// Replaces an agent's configuration. Its offers become unknown.
    ///
    /// # Errors
    ///
    /// Returns [`Error::StaleVersion`] if the configuration is no longer `seen`.
    #[boxed]
    pub async fn edit_agent(
        &self,
        tenant: TenantId,
        id: AgentId,
        seen: &AgentConfig,
        to: &AgentConfig,
        now: Timestamp,
    ) -> Result<Agent, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let before = lock_present_agent(tx, tenant, id).await?;
                if before.agent.config != *seen {
                    return Err(Error::StaleVersion {
                        what: "agent",
                        name: before.agent.name,
                    });
                }
                write_agent(tx, tenant, &before, to, None, now).await
            })
        })
        .await
    }

    /// Stores the offers of an agent that was started with a configuration, and returns the agent. Changes nothing if
    /// the configuration is no longer `started`, because the offers may not hold for the present one.
    #[boxed]
    pub async fn store_agent_offers(
        &self,
        tenant: TenantId,
        id: AgentId,
        started: &AgentConfig,
        offers: &OfferedCapabilities,
        now: Timestamp,
    ) -> Result<Agent, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let before = lock_present_agent(tx, tenant, id).await?;
                if before.agent.config != *started {
                    return Ok(before.agent);
                }
                write_agent(tx, tenant, &before, started, Some(offers), now).await
            })
        })
        .await
    }

    /// Creates an agent. Returns `false` if an agent with that name exists or was removed.
    #[boxed]
    pub async fn add_agent(
        &self,
        tenant: TenantId,
        name: &str,
        config: &AgentConfig,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let stored = &stored::write::<StoredAgent>(&(config.clone(), None));
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let id = AgentId::generate(now, self.ids());
                let added = tx
                    .execute(
                        sql!("harnesses/add"),
                        params! { "harnesses/add";
                            id: id,
                            tenant: tenant,
                            name: name,
                            config: &stored.value,
                            now: now,
                            format: stored::DOCUMENT_FORMAT,
                            needs_format: stored.needs_format,
                        },
                    )
                    .await?;
                Ok(added == 1)
            })
        })
        .await
    }

    /// Lists agents by name. Leaves out removed agents, and an agent whose document needs a later version of Matins.
    #[boxed]
    pub async fn agents(&self, scope: Scope) -> Result<Vec<Agent>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("harnesses/list"), params![scope.tenant()])
            .await?;
        let read = found.iter().map(rows::agent);
        read.filter(|read| !matches!(read, Err(error) if error.is_newer_format()))
            .collect()
    }

    /// Returns one agent, which may be removed, because closed sessions refer to removed agents.
    #[boxed]
    pub async fn agent(&self, scope: Scope, id: AgentId) -> Result<Agent, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("harnesses/by_id"), params![scope.tenant(), id])
            .await?;
        rows::agent(&row.ok_or_else(|| Error::not_found("agent", id))?)
    }
}

/// An agent whose row this transaction has locked.
struct LockedAgent {
    agent: Agent,
    row: Row,
}

/// Locks an agent and returns it.
///
/// # Errors
///
/// Returns [`Error::NewerFormat`] if this version does not support the agent's document, because it could not rewrite
/// that document.
async fn lock_agent(tx: &mut Tx, tenant: TenantId, id: AgentId) -> Result<LockedAgent, Error> {
    tx.lock_rows(sql_of_postgres!("harnesses/lock"), vec![params![id]])
        .await?;
    let row = tx
        .fetch_optional(sql!("harnesses/by_id"), params![Some(tenant), id])
        .await?;
    let row = row.ok_or_else(|| Error::not_found("agent", id))?;
    let agent = rows::agent(&row)?;
    stored::require_supported("agent", &agent.name, agent.needs_format)?;
    Ok(LockedAgent { agent, row })
}

/// Locks an agent as [`lock_agent`] does.
///
/// # Errors
///
/// Also returns a not-found error if the agent is removed, because a write would make it exist again.
async fn lock_present_agent(
    tx: &mut Tx,
    tenant: TenantId,
    id: AgentId,
) -> Result<LockedAgent, Error> {
    let locked = lock_agent(tx, tenant, id).await?;
    match locked.row.optional::<Timestamp>("removed_at")? {
        None => Ok(locked),
        Some(_) => Err(Error::not_found("agent", id)),
    }
}

async fn write_agent(
    tx: &mut Tx,
    tenant: TenantId,
    before: &LockedAgent,
    config: &AgentConfig,
    offers: Option<&OfferedCapabilities>,
    now: Timestamp,
) -> Result<Agent, Error> {
    let LockedAgent { agent, row } = before;
    let document = (config.clone(), offers.cloned());
    let written = stored::rewrite::<StoredAgent>(&document, row, "config")?;
    let params = params! { "harnesses/put";
        id: agent.id,
        tenant: tenant,
        name: agent.name.as_str(),
        config: &written.value,
        now: now,
        format: stored::format_after_rewrite(row.get("format")?),
        needs_format: written.needs_format,
    };
    let row = tx.fetch_one(sql!("harnesses/put"), params).await?;
    rows::agent(&row)
}
