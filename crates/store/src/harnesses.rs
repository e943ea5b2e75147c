//! Harnesses by name.

use model::{
    HarnessId, TenantId, Timestamp,
    harness::{Harness, HarnessConfig, Offers},
};
use serde_json::json;

use crate::{
    Error, Scope, rows,
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
