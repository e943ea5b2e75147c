//! The addition of instances with folders. Hosts register themselves.

use model::{InstanceId, TenantId, Timestamp, trigger_file::InstanceFolder};
use serde_json::json;

use crate::{
    Error, Scope, boxed,
    store::Store,
    stored::StoredInstanceConfig,
    tokens::{NewToken, insert_runtime_token},
};

/// A new instance with a folder that a runtime watches.
#[derive(Debug, Clone)]
pub struct NewInstance {
    /// The ID of the instance.
    pub id: InstanceId,
    /// The name of the instance.
    pub name: String,
    /// The folder.
    pub folder: InstanceFolder,
}

impl Store {
    /// Adds an instance with a folder, and the token of its runtime. The token has the role
    /// [`Role::Runtime`](model::access::Role::Runtime), whatever role and scopes `token` has.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if another instance has the name, and the errors of [`Store::create_runtime_token`].
    #[boxed]
    pub async fn add_instance(
        &self,
        tenant: TenantId,
        new: &NewInstance,
        token: &NewToken,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let config = json!(StoredInstanceConfig::of_folder(&new.folder));
                let params = params![tenant, new.id, new.name.as_str(), "directory", config, now];
                let added = tx.fetch_optional(sql!("instances/add"), params).await?;
                if added.is_none() {
                    return Err(Error::NameTaken {
                        what: "instance",
                        name: new.name.clone(),
                    });
                }
                insert_runtime_token(tx, tenant, new.id, token, now).await
            })
        })
        .await
    }
}
