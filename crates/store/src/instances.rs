//! Instances: the folders in which agents keep their memory, and the servers and runtimes that serve them.
//!
//! **Invariant:** at most one server serves a data folder. [`Store::claim_instance`] compares the worker that served it
//! before, and the heartbeat of a server that was replaced returns [`ServerHeartbeatReply::Replaced`].

use std::sync::PoisonError;

use model::{
    InstanceId, TenantId, Timestamp, WorkerId, limits, schedule::zone_rules_edition,
    trigger_file::InstanceKind,
};

use crate::{
    Error, Scope, boxed,
    changes::note_scheduler_work,
    database::{Row, Tx},
    schema,
    store::Store,
    stored::{self, DOCUMENT_FORMAT},
};

/// The status of an instance that is not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceStatus {
    /// The ID of the instance.
    pub id: InstanceId,
    /// The name of the instance.
    pub name: String,
    /// The place where its agents run.
    pub kind: InstanceKind,
    /// The server that serves the instance, or the last one that did. `None` if no server ever has.
    pub server: Option<InstanceServer>,
    /// The instant at which a command or a server last used the instance.
    pub last_seen_at: Option<Timestamp>,
    /// The number of queued runs that only this instance may take: they are placed on it, or the memory of their agents
    /// is in its data folder.
    pub queued_runs: i64,
    /// The number of runs whose trigger files wait on this instance.
    pub delivered_runs: i64,
    /// The number of automations that need a later document format than the server supports.
    pub unsupported_automations: i64,
}

/// A server that serves a data folder, or the last one that did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceServer {
    /// The name of the server's worker.
    pub worker: WorkerId,
    /// The version of the server's program.
    pub version: String,
    /// The highest document format that the server supports.
    pub format: i64,
    /// The edition of the server's zone rules. `None` if the server's version does not report it.
    pub zone_rules: Option<String>,
    /// The instant of the server's last heartbeat.
    pub last_heartbeat_at: Timestamp,
    /// The instant at which the server shut down. `None` if it has not.
    pub stopped_at: Option<Timestamp>,
}

impl InstanceServer {
    /// Returns `true` if the server has not shut down and its last heartbeat is recent enough.
    pub fn is_online(&self, now: Timestamp) -> bool {
        self.stopped_at.is_none()
            && now.since(self.last_heartbeat_at) <= limits::SERVER_OFFLINE_AFTER
    }
}

/// An instance that is not removed, with its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedInstance {
    /// The name of the instance.
    pub name: String,
    /// The place where its agents run.
    pub kind: InstanceKind,
    /// The server that serves the instance, or the last one that did. `None` if no server ever has.
    pub server: Option<InstanceServer>,
}

impl ServedInstance {
    /// Returns `true` if its server is online.
    pub fn is_online(&self, now: Timestamp) -> bool {
        self.server
            .as_ref()
            .is_some_and(|server| server.is_online(now))
    }
}

/// The reply to a server's heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHeartbeatReply {
    /// The server may continue.
    Continue,
    /// Another server serves a data folder with the same ID.
    Replaced,
    /// Another program has migrated the schema to a version that breaks this program.
    Outdated {
        /// The schema version that a program must know.
        required: i64,
        /// The latest schema version that this program knows.
        supported: i64,
    },
}

impl Store {
    /// Registers the data folder of this server as an instance of a tenant, or updates its name and its last use.
    #[boxed]
    pub async fn register_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        name: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                tx.execute(
                    sql!("instances/put"),
                    params![tenant, instance, name, "host", now],
                )
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Returns the server that serves a data folder, or the last one that did. Returns `None` if no server ever has.
    #[boxed]
    pub async fn instance_server(
        &self,
        instance: InstanceId,
    ) -> Result<Option<InstanceServer>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let row = tx
            .fetch_optional(sql!("servers/of_instance"), params![instance])
            .await?;
        Ok(row.as_ref().map(read_server).transpose()?.flatten())
    }

    /// Returns the number of servers that are online.
    #[boxed]
    pub async fn count_online_servers(&self, now: Timestamp) -> Result<u64, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
        let row = tx
            .fetch_one(sql!("servers/count_online"), params![online_since])
            .await?;
        let servers: i64 = row.get("servers")?;
        Ok(u64::try_from(servers).unwrap_or(0))
    }

    /// Returns `true` if an instance of a tenant has a server that is online.
    #[boxed]
    pub async fn has_online_server(&self, tenant: TenantId, now: Timestamp) -> Result<bool, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
        let row = tx
            .fetch_one(
                sql!("servers/online_of_tenant"),
                params![online_since, tenant],
            )
            .await?;
        Ok(row.get("is_online")?)
    }

    /// Records that this process serves a data folder from now on, in place of `before`. Restores the instance for
    /// tenants that had removed it, with the memory that its data folder holds. Returns `false` if another server has
    /// begun to serve it first, so that only one of two concurrent servers succeeds.
    #[boxed]
    pub async fn claim_instance(
        &self,
        instance: InstanceId,
        worker: &WorkerId,
        before: Option<&WorkerId>,
        version: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let known = schema::LATEST_VERSION;
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let before = before.map(WorkerId::as_str);
                let params = params! { "servers/claim_instance";
                    instance: instance,
                    worker: worker.as_str(),
                    version: version,
                    schema_version: known,
                    now: now,
                    worker_before: before,
                    format: DOCUMENT_FORMAT,
                    zone_rules: zone_rules_edition(),
                };
                // Fence: the statement compares the previous worker, so that of two concurrent servers one succeeds.
                if tx.execute(sql!("servers/claim_instance"), params).await? == 0 {
                    return Ok(false);
                }
                restore_removed_instance(tx, instance).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Records a server's heartbeat.
    #[boxed]
    pub async fn renew_server_heartbeat(
        &self,
        instance: InstanceId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<ServerHeartbeatReply, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let params = params![instance, worker.as_str(), now];
                let noted = tx
                    .fetch_optional(sql_by_dialect!("servers/renew_heartbeat"), params)
                    .await?;
                let Some(noted) = noted else {
                    return Ok(ServerHeartbeatReply::Replaced);
                };
                // A tenant may have removed the instance while the server was away.
                restore_removed_instance(tx, instance).await?;
                let (needed, known) = (noted.get("works_with")?, schema::LATEST_VERSION);
                Ok(if needed > known {
                    ServerHeartbeatReply::Outdated {
                        required: needed,
                        supported: known,
                    }
                } else {
                    ServerHeartbeatReply::Continue
                })
            })
        })
        .await
    }

    /// Records that a server has shut down.
    #[boxed]
    pub async fn record_server_stop(
        &self,
        instance: InstanceId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let params = params![instance, worker.as_str(), now];
                tx.execute(sql!("servers/stop"), params).await?;
                Ok(())
            })
        })
        .await
    }

    /// Removes an instance and returns its name. The memory in its data folder is lost: queued runs that need it
    /// fail, and so do later ones, until a server serves the folder again. The token of a runtime is revoked.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InstanceInUse`] while a server or a runtime serves the folder.
    #[boxed]
    pub async fn remove_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<String, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                // Lock the instance, so that the second of two concurrent removals finds it removed.
                let locked = tx
                    .fetch_optional(sql_by_dialect!("instances/lock"), params![tenant, instance])
                    .await?;
                let locked = locked.ok_or_else(|| Error::not_found("instance", instance))?;
                let name: String = locked.get("name")?;
                let row = tx
                    .fetch_optional(sql!("servers/of_instance"), params![instance])
                    .await?;
                let serving = row.as_ref().map(read_server).transpose()?.flatten();
                if let Some(serving) = serving.filter(|serving| serving.is_online(now)) {
                    return Err(Error::InstanceInUse {
                        instance: name,
                        worker: serving.worker,
                    });
                }
                tx.execute(sql!("instances/remove"), params![tenant, instance])
                    .await?;
                tx.execute(
                    sql!("tokens/revoke_of_instance"),
                    params![tenant, instance, now],
                )
                .await?;
                // The scheduler fails the runs that wait for the instance.
                note_scheduler_work(tx, tenant).await?;
                Ok(name)
            })
        })
        .await
    }

    /// Returns `true` if this process has seen that an instance is registered for a tenant.
    pub(crate) fn is_instance_registered(&self, tenant: TenantId, instance: InstanceId) -> bool {
        let known = self
            .registered_instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.contains(&(tenant, instance))
    }

    /// Remembers that an instance is registered for a tenant.
    pub(crate) fn remember_registered_instance(&self, tenant: TenantId, instance: InstanceId) {
        let mut known = self
            .registered_instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert((tenant, instance));
    }

    /// Returns the name of an instance that was removed. Returns `None` if it was not removed or does not exist.
    #[boxed]
    pub async fn removed_instance(
        &self,
        scope: Scope,
        instance: InstanceId,
    ) -> Result<Option<String>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("instances/name"), params![scope.tenant(), instance])
            .await?;
        match row {
            Some(row) if row.get("is_removed")? => Ok(Some(row.get("name")?)),
            _ => Ok(None),
        }
    }

    /// Returns an instance of a tenant with its server. Returns `None` if it was removed or does not exist.
    #[boxed]
    pub async fn served_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
    ) -> Result<Option<ServedInstance>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("instances/by_id"), params![tenant, instance])
            .await?;
        let read = |row: &Row| {
            Ok(ServedInstance {
                name: row.get("name")?,
                kind: stored::instance_kind(row)?,
                server: read_server(row)?,
            })
        };
        row.as_ref().map(read).transpose()
    }

    /// Lists the instances by name, each with the number of queued runs that wait for it.
    #[boxed]
    pub async fn instances(&self, scope: Scope) -> Result<Vec<InstanceStatus>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("instances/list"), params![scope.tenant()])
            .await?;
        found.iter().map(read_instance_status).collect()
    }
}

/// Locks the instance on which something is placed, so that it is not removed meanwhile.
///
/// # Errors
///
/// Returns a not-found error if the tenant has no such instance, or has removed it.
pub(crate) async fn keep_instance(
    tx: &mut Tx,
    tenant: TenantId,
    placed_on: Option<InstanceId>,
) -> Result<(), Error> {
    let Some(instance) = placed_on else {
        return Ok(());
    };
    let locked = tx
        .fetch_optional(sql_by_dialect!("instances/lock"), params![tenant, instance])
        .await?;
    locked
        .map(|_| ())
        .ok_or_else(|| Error::not_found("instance", instance))
}

/// Restores an instance for the tenants that had removed it, because its data folder is served again.
async fn restore_removed_instance(tx: &mut Tx, instance: InstanceId) -> Result<(), Error> {
    let back = tx
        .fetch_all(sql!("instances/restore"), params![instance])
        .await?;
    if !back.is_empty() {
        tracing::info!(%instance, "a server serves the removed instance {instance} again");
    }
    Ok(())
}

fn read_instance_status(row: &Row) -> Result<InstanceStatus, Error> {
    let server = read_server(row)?;
    let used: Option<Timestamp> = row.optional("last_seen_at")?;
    Ok(InstanceStatus {
        id: row.get("id")?,
        name: row.get("name")?,
        kind: stored::instance_kind(row)?,
        last_seen_at: used.max(server.as_ref().map(|server| server.last_heartbeat_at)),
        server,
        queued_runs: row.get("queued_runs")?,
        delivered_runs: row.get("delivered_runs")?,
        unsupported_automations: row.get("unsupported_automations")?,
    })
}

/// Returns the server in a row. Returns `None` if the row has none.
fn read_server(row: &Row) -> Result<Option<InstanceServer>, Error> {
    let Some(worker) = row.optional::<WorkerId>("worker_id")? else {
        return Ok(None);
    };
    Ok(Some(InstanceServer {
        worker,
        version: row.get("version")?,
        format: row.get("format")?,
        zone_rules: row.optional("zone_rules")?,
        last_heartbeat_at: row.get("seen_at")?,
        stopped_at: row.optional("stopped_at")?,
    }))
}
