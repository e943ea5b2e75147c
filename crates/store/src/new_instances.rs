//! The addition of instances with folders. Hosts register themselves.

use model::{InstanceId, TenantId, Timestamp, trigger_file::InstanceFolder};
use serde_json::json;

use crate::{
    Error, Scope, boxed,
    database::Tx,
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
    /// [`Error::NameTaken`] if another instance has the name, [`Error::FolderTaken`] if an instance of any tenant has the
    /// folder, and the errors of [`Store::create_runtime_token`].
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
                let (name, folder_key) = (new.name.as_str(), new.folder.key());
                let folder_key = folder_key.as_str();
                let params = params![tenant, new.id, name, config, now, folder_key];
                let added = tx.fetch_optional(sql!("instances/add"), params).await?;
                if added.is_none() {
                    return Err(conflict(tx, tenant, new, folder_key).await?);
                }
                insert_runtime_token(tx, tenant, new.id, token, now).await
            })
        })
        .await
    }
}

/// Returns the error of an instance whose name or folder is in use.
async fn conflict(
    tx: &mut Tx,
    tenant: TenantId,
    new: &NewInstance,
    folder_key: &str,
) -> Result<Error, Error> {
    let params = params![tenant, new.name.as_str(), folder_key];
    let found = tx
        .fetch_optional(sql!("instances/conflicting"), params)
        .await?;
    let mut holder = None;
    if let Some(row) = found {
        if row.get("has_name")? {
            return Ok(Error::NameTaken {
                what: "instance",
                name: new.name.clone(),
            });
        }
        holder = Some(row.get("name")?);
    }
    Ok(Error::FolderTaken {
        folder: new.folder.path.clone(),
        instance: new.name.clone(),
        holder,
    })
}
