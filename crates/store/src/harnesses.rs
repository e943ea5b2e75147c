//! Harnesses by name.

use model::{
    HarnessId, TenantId, Timestamp,
    harness::{Harness, HarnessConfig, Offers},
};
use serde_json::json;

use crate::{
    Error, Scope,
    database::Tx,
    rows,
    store::{Store, transact},
};

impl Store {
    /// Makes a harness, or gives the one of that name a new configuration and new offers.
    pub async fn put_harness(
        &self,
        tenant: TenantId,
        name: &str,
        config: &HarnessConfig,
        offers: Option<&Offers>,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        let stored = json!({ "config": config, "offers": offers });
        transact!(self, Scope::Tenant(tenant), |tx| {
            let id = HarnessId::generate(now, self.ids());
            let row = tx
                .fetch_one(
                    sql!("harnesses/put"),
                    params![id, tenant, name, &stored, now],
                )
                .await?;
            rows::harness(&row)
        })
    }

    /// Gives a harness another configuration, whose agent's offers are unknown. Where it is something else by
    /// now than `seen`, nothing is changed.
    pub async fn edit_harness(
        &self,
        tenant: TenantId,
        id: HarnessId,
        seen: &HarnessConfig,
        to: &HarnessConfig,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        transact!(self, Scope::Tenant(tenant), |tx| {
            let before = locked(tx, tenant, id).await?;
            if before.config != *seen {
                return Err(Error::Changed {
                    what: "harness",
                    name: before.name,
                });
            }
            write(tx, tenant, &before, to, None, now).await
        })
    }

    /// Keeps what the agent of a harness offers that was started with a configuration. Where it has another
    /// one by now, nothing is known of that, and nothing is changed. Gives the harness as it is.
    pub async fn note_offers(
        &self,
        tenant: TenantId,
        id: HarnessId,
        started: &HarnessConfig,
        offers: &Offers,
        now: Timestamp,
    ) -> Result<Harness, Error> {
        transact!(self, Scope::Tenant(tenant), |tx| {
            let before = locked(tx, tenant, id).await?;
            if before.config != *started {
                return Ok(before);
            }
            write(tx, tenant, &before, started, Some(offers), now).await
        })
    }

    /// Makes a harness unless there is one of that name.
    pub async fn add_harness(
        &self,
        tenant: TenantId,
        name: &str,
        config: &HarnessConfig,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let stored = json!({ "config": config });
        transact!(self, Scope::Tenant(tenant), |tx| {
            let id = HarnessId::generate(now, self.ids());
            let added = tx
                .execute(
                    sql!("harnesses/add"),
                    params![id, tenant, name, &stored, now],
                )
                .await?;
            Ok(added == 1)
        })
    }

    /// Lists harnesses by name.
    pub async fn harnesses(&self, scope: Scope) -> Result<Vec<Harness>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("harnesses/list"), params![scope.tenant()])
            .await?;
        found.iter().map(rows::harness).collect()
    }

    /// Reads one harness.
    pub async fn harness(&self, scope: Scope, id: HarnessId) -> Result<Harness, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("harnesses/by_id"), params![scope.tenant(), id])
            .await?;
        rows::harness(&row.ok_or_else(|| Error::not_found("harness", id))?)
    }
}

/// A harness that nobody else changes until the transaction is over.
async fn locked(tx: &mut Tx, tenant: TenantId, id: HarnessId) -> Result<Harness, Error> {
    tx.lock_rows(sql_of_postgres!("harnesses/lock"), vec![params![id]])
        .await?;
    let row = tx
        .fetch_optional(sql!("harnesses/by_id"), params![Some(tenant), id])
        .await?;
    rows::harness(&row.ok_or_else(|| Error::not_found("harness", id))?)
}

async fn write(
    tx: &mut Tx,
    tenant: TenantId,
    before: &Harness,
    config: &HarnessConfig,
    offers: Option<&Offers>,
    now: Timestamp,
) -> Result<Harness, Error> {
    let stored = json!({ "config": config, "offers": offers });
    let written = params![before.id, tenant, before.name.as_str(), &stored, now];
    let row = tx.fetch_one(sql!("harnesses/put"), written).await?;
    rows::harness(&row)
}
