//! Agents: their configurations and the features that they offer, by name. (The table is called `harnesses`.)

use model::{
    HarnessId, TenantId, Timestamp,
    harness::{Harness, HarnessConfig, Offers},
};

use crate::{
    Error, Scope,
    database::{Row, Tx},
    rows,
    store::Store,
    stored::{self, StoredAgent},
};

impl Store {
    /// Creates an agent, or replaces the configuration and the offers of the agent with that name.
    pub async fn put_harness(
        &self,
        tenant: TenantId,
        name: &str,
        config: &HarnessConfig,
        offers: Option<&Offers>,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let found = tx
                    .fetch_optional(sql!("harnesses/by_name"), params![tenant, name])
                    .await?;
                // Replace a corrupt row: it has no unknown keys that could be kept.
                let found = found
                    .filter(|row| !matches!(rows::harness(row), Err(error) if error.is_nonsense()));
                if let Some(found) = found {
                    let before = locked(tx, tenant, found.get("id")?).await?;
                    return write(tx, tenant, &before, config, offers, now).await;
                }
                // If another transaction has inserted the name meanwhile, the statement updates that row.
                let id = HarnessId::generate(now, self.ids());
                let stored = stored::write::<StoredAgent>(&(config.clone(), offers.cloned()));
                let (format, needed) = (stored::FORMAT, stored.needs_format);
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
                rows::harness(&row)
            })
        })
        .await
    }

    /// Replaces an agent's configuration. Its offers become unknown.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] if the configuration is no longer `seen`.
    pub async fn edit_harness(
        &self,
        tenant: TenantId,
        id: HarnessId,
        seen: &HarnessConfig,
        to: &HarnessConfig,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let before = locked(tx, tenant, id).await?;
                if before.harness.config != *seen {
                    return Err(Error::Changed {
                        what: "harness",
                        name: before.harness.name,
                    });
                }
                write(tx, tenant, &before, to, None, now).await
            })
        })
        .await
    }

    /// Stores the offers of an agent that was started with a configuration, and returns the agent. Changes nothing if
    /// the configuration is no longer `started`, because the offers may not hold for the present one.
    pub async fn note_offers(
        &self,
        tenant: TenantId,
        id: HarnessId,
        started: &HarnessConfig,
        offers: &Offers,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let before = locked(tx, tenant, id).await?;
                if before.harness.config != *started {
                    return Ok(before.harness);
                }
                write(tx, tenant, &before, started, Some(offers), now).await
            })
        })
        .await
    }

    /// Creates an agent. Returns `false` if an agent with that name exists.
    pub async fn add_harness(
        &self,
        tenant: TenantId,
        name: &str,
        config: &HarnessConfig,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let stored = &stored::write::<StoredAgent>(&(config.clone(), None));
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let id = HarnessId::generate(now, self.ids());
                let added = tx
                    .execute(
                        sql!("harnesses/add"),
                        params! { "harnesses/add";
                            id: id,
                            tenant: tenant,
                            name: name,
                            config: &stored.value,
                            now: now,
                            format: stored::FORMAT,
                            needs_format: stored.needs_format,
                        },
                    )
                    .await?;
                Ok(added == 1)
            })
        })
        .await
    }

    /// Lists agents by name. Leaves out an agent whose document needs a later version of Matins.
    pub async fn harnesses(&self, scope: Scope) -> Result<Vec<Harness>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("harnesses/list"), params![scope.tenant()])
            .await?;
        let read = found.iter().map(rows::harness);
        read.filter(|read| !matches!(read, Err(error) if error.is_newer_format()))
            .collect()
    }

    /// Returns one agent.
    pub async fn harness(&self, scope: Scope, id: HarnessId) -> Result<Harness, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("harnesses/by_id"), params![scope.tenant(), id])
            .await?;
        rows::harness(&row.ok_or_else(|| Error::not_found("harness", id))?)
    }
}

/// An agent whose row this transaction has locked.
struct LockedHarness {
    harness: Harness,
    row: Row,
}

/// Locks an agent and returns it.
///
/// # Errors
///
/// [`Error::NewerFormat`] if this version does not honour the agent's document, because it could not rewrite that
/// document.
async fn locked(tx: &mut Tx, tenant: TenantId, id: HarnessId) -> Result<LockedHarness, Error> {
    tx.lock_rows(sql_of_postgres!("harnesses/lock"), vec![params![id]])
        .await?;
    let row = tx
        .fetch_optional(sql!("harnesses/by_id"), params![Some(tenant), id])
        .await?;
    let row = row.ok_or_else(|| Error::not_found("harness", id))?;
    let harness = rows::harness(&row)?;
    stored::require_honoured("harness", &harness.name, harness.needs_format)?;
    Ok(LockedHarness { harness, row })
}

async fn write(
    tx: &mut Tx,
    tenant: TenantId,
    before: &LockedHarness,
    config: &HarnessConfig,
    offers: Option<&Offers>,
    now: Timestamp,
) -> Result<Harness, Error> {
    let LockedHarness { harness, row } = before;
    let document = (config.clone(), offers.cloned());
    let written = stored::rewrite::<StoredAgent>(&document, row, "config")?;
    let params = params! { "harnesses/put";
        id: harness.id,
        tenant: tenant,
        name: harness.name.as_str(),
        config: &written.value,
        now: now,
        format: stored::format_over(row.get("format")?),
        needs_format: written.needs_format,
    };
    let row = tx.fetch_one(sql!("harnesses/put"), params).await?;
    rows::harness(&row)
}
