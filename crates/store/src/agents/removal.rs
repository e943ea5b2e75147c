//! The removal of agents. A removed agent keeps its row, because closed sessions and deleted automations refer to it.
//!
//! **Invariant:** no automation and no open session uses a removed agent. A transition that begins to use an agent calls
//! [`keep_agent`] first, whose lock excludes that of the removal.

use model::{AgentId, AutomationId, SessionId, TenantId, Timestamp, agent::Agent};

use crate::{Error, Scope, boxed, database::Tx, rows, store::Store};

/// The maximum number of automations and the maximum number of sessions that a refused removal names.
const MAX_NAMED_USERS: u32 = 20;

/// The result of a request to remove an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRemoval {
    /// The agent is removed.
    Removed(Box<Agent>),
    /// Automations or open sessions use the agent, and nothing has changed. At most 20 of each are named.
    UsedBy {
        /// The name of the agent.
        agent: String,
        /// The automations, by name.
        automations: Vec<UsingAutomation>,
        /// The open sessions, the newest first.
        sessions: Vec<UsingSession>,
        /// `true` if there are more than those.
        more: bool,
    },
}

/// An automation that uses an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsingAutomation {
    /// The ID.
    pub id: AutomationId,
    /// The name.
    pub name: String,
    /// `false` if the automation is paused.
    pub enabled: bool,
}

/// An open session that uses an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsingSession {
    /// The ID.
    pub id: SessionId,
    /// The title. `None` if the session has none.
    pub title: Option<String>,
}

impl Store {
    /// Removes an agent, unless an automation or an open session uses it.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the agent does not exist or is removed already.
    #[boxed]
    pub async fn remove_agent(
        &self,
        tenant: TenantId,
        id: AgentId,
        now: Timestamp,
    ) -> Result<AgentRemoval, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                // 1. Lock. Wait for transactions that begin to use the agent, and let later ones wait.
                let row = tx
                    .fetch_optional(
                        sql_by_dialect!("harnesses/lock_to_remove"),
                        params![tenant, id],
                    )
                    .await?;
                let agent = rows::agent(&row.ok_or_else(|| Error::not_found("agent", id))?)?;
                // 2. Decide. One row more than is named is read, to know whether there are more.
                let users = params![tenant, id, MAX_NAMED_USERS + 1];
                let found = tx
                    .fetch_all(sql!("harnesses/automations"), users.clone())
                    .await?;
                let mut automations = Vec::with_capacity(found.len());
                for row in &found {
                    automations.push(UsingAutomation {
                        id: row.get("id")?,
                        name: row.get("name")?,
                        enabled: row.optional::<Timestamp>("paused_at")?.is_none(),
                    });
                }
                let found = tx.fetch_all(sql!("harnesses/open_sessions"), users).await?;
                let mut sessions = Vec::with_capacity(found.len());
                for row in &found {
                    sessions.push(UsingSession {
                        id: row.get("id")?,
                        title: row.optional("title")?,
                    });
                }
                if !automations.is_empty() || !sessions.is_empty() {
                    let named = MAX_NAMED_USERS as usize;
                    let more = automations.len() > named || sessions.len() > named;
                    automations.truncate(named);
                    sessions.truncate(named);
                    return Ok(AgentRemoval::UsedBy {
                        agent: agent.name,
                        automations,
                        sessions,
                        more,
                    });
                }
                // 3. Write.
                tx.execute(sql!("harnesses/remove"), params![id, now])
                    .await?;
                Ok(AgentRemoval::Removed(Box::new(agent)))
            })
        })
        .await
    }
}

/// Keeps an agent from being removed until the end of the transaction.
///
/// # Errors
///
/// Returns a not-found error if the agent does not exist in the tenant or is removed.
pub(crate) async fn keep_agent(tx: &mut Tx, tenant: TenantId, id: AgentId) -> Result<(), Error> {
    let found = tx
        .fetch_optional(sql_by_dialect!("harnesses/share"), params![tenant, id])
        .await?;
    match found {
        Some(_) => Ok(()),
        None => Err(Error::not_found("agent", id)),
    }
}
