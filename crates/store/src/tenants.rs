//! Tenants and the instances that serve them.

use model::{InstanceId, TenantId, Timestamp};

use crate::{
    Error, Scope,
    store::{Store, transact},
};

impl Store {
    /// Gives the id of the tenant called `name`, and makes it where there is none.
    pub async fn ensure_tenant(&self, name: &str, now: Timestamp) -> Result<TenantId, Error> {
        transact!(self, Scope::System, |tx| {
            let id = TenantId::generate(now, self.ids());
            tx.execute(sql!("tenants/ensure"), params![id, name, now])
                .await?;
            let row = tx.fetch_one(sql!("tenants/by_name"), params![name]).await?;
            Ok(row.get("id")?)
        })
    }

    /// Registers the data folder of this server as an instance of a tenant, or says that it is there
    /// again.
    pub async fn register_host(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        name: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        transact!(self, Scope::Tenant(tenant), |tx| {
            tx.execute(
                sql!("instances/put"),
                params![tenant, instance, name, "host", now],
            )
            .await?;
            Ok(())
        })
    }
}
