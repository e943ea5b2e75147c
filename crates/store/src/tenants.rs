//! Tenants and the instances that serve them.

use model::{InstanceId, TenantId, Timestamp};

use crate::{
    Error, Scope,
    database::Row,
    store::{Store, transact},
};

/// An instance that is not gone, and what waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceStanding {
    /// Its id.
    pub id: InstanceId,
    /// Its name.
    pub name: String,
    /// When a command or a server last used it.
    pub last_seen_at: Option<Timestamp>,
    /// How many queued runs wait for it, because their memory lies there.
    pub waiting: i64,
}

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

    /// Lists the instances by name, each with how many queued runs wait for it.
    pub async fn instances(&self, scope: Scope) -> Result<Vec<InstanceStanding>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("instances/waiting"), params![scope.tenant()])
            .await?;
        let instance = |row: &Row| {
            Ok(InstanceStanding {
                id: row.get("id")?,
                name: row.get("name")?,
                last_seen_at: row.optional("last_seen_at")?,
                waiting: row.get("waiting")?,
            })
        };
        found.iter().map(instance).collect()
    }
}
