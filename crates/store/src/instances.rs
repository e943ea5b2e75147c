//! Instances, and the servers that serve their data folders.

use std::sync::PoisonError;

use model::{InstanceId, TenantId, Timestamp, WorkerId, limits};

use crate::{
    Error, Scope,
    database::{Row, Tx},
    schema,
    store::Store,
    stored::FORMAT,
};

/// An instance that is not gone, and what waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceStanding {
    /// The ID of the instance.
    pub id: InstanceId,
    /// The name of the automation.
    pub name: String,
    /// Who serves it, or did last; none where no server ever has.
    pub server: Option<Serving>,
    /// The instant at which a command or a server last used the instance.
    pub last_seen_at: Option<Timestamp>,
    /// How many queued runs wait for it, because their memory lies there.
    pub waiting: i64,
    /// How many automations need a later document format than its server honours.
    pub too_new: i64,
}

/// A server that serves a data folder, or did last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// The name of its worker.
    pub worker: WorkerId,
    /// The version of its program.
    pub version: String,
    /// The highest document format that it honours.
    pub format: i64,
    /// When it last showed itself.
    pub seen_at: Timestamp,
    /// When it stopped by itself, if it did.
    pub stopped_at: Option<Timestamp>,
}

impl Serving {
    /// Whether it is there at `now`: it has not stopped, and showed itself not too long ago.
    pub fn is_online(&self, now: Timestamp) -> bool {
        self.stopped_at.is_none() && now.since(self.seen_at) <= limits::SERVER_AWAY
    }
}

/// What a server is told that shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It goes on.
    Noted,
    /// Another server serves a data folder with the same identity.
    Taken,
    /// Another program has brought the schema to a version with which this one cannot go on.
    Outdated {
        /// The version that a program must know.
        needed: i64,
        /// The latest one that this program knows.
        known: i64,
    },
}

impl Store {
    /// Registers the data folder of this server as an instance of a tenant, or says that it is there
    /// again.
    pub async fn register_host(
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

    /// Who serves a data folder, or did last.
    pub async fn serving(&self, instance: InstanceId) -> Result<Option<Serving>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let row = tx
            .fetch_optional(sql!("servers/serving"), params![instance])
            .await?;
        Ok(row.as_ref().map(serving).transpose()?.flatten())
    }

    /// Notes that this process serves a data folder from now on, which `before` has served until now. Where
    /// tenants had given the instance up, it is there again, with whatever memory lies in it. False where another
    /// server has begun to serve it instead: of two that begin at once, one is told.
    pub async fn serve(
        &self,
        instance: InstanceId,
        worker: &WorkerId,
        before: Option<&WorkerId>,
        version: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let known = schema::LATEST;
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let before = before.map(WorkerId::as_str);
                let params = params! { "servers/serve";
                    instance: instance,
                    worker: worker.as_str(),
                    version: version,
                    schema_version: known,
                    now: now,
                    worker_before: before,
                    format: FORMAT,
                };
                if tx.execute(sql!("servers/serve"), params).await? == 0 {
                    return Ok(false);
                }
                bring_back(tx, instance).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Shows that a server is still there.
    pub async fn show_presence(
        &self,
        instance: InstanceId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<Presence, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let params = params![instance, worker.as_str(), now];
                let noted = tx
                    .fetch_optional(sql_by_dialect!("servers/beat"), params)
                    .await?;
                let Some(noted) = noted else {
                    return Ok(Presence::Taken);
                };
                // Who was away may have been given up meanwhile.
                bring_back(tx, instance).await?;
                let (needed, known) = (noted.get("works_with")?, schema::LATEST);
                Ok(if needed > known {
                    Presence::Outdated { needed, known }
                } else {
                    Presence::Noted
                })
            })
        })
        .await
    }

    /// Notes that a server has stopped.
    pub async fn stop_serving(
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

    /// Gives an instance up: what lies there is lost. Queued runs whose memory lies there fail, and so do later
    /// ones, until a server serves its data folder again. Refused while one does. Gives its name.
    pub async fn remove_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        now: Timestamp,
    ) -> Result<String, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let locked = tx
                    .fetch_optional(sql_by_dialect!("instances/lock"), params![tenant, instance])
                    .await?;
                let locked = locked.ok_or_else(|| Error::not_found("instance", instance))?;
                let name: String = locked.get("name")?;
                let row = tx
                    .fetch_optional(sql!("servers/serving"), params![instance])
                    .await?;
                let serving = row.as_ref().map(serving).transpose()?.flatten();
                if let Some(serving) = serving.filter(|serving| serving.is_online(now)) {
                    return Err(Error::Served {
                        instance: name,
                        worker: serving.worker,
                    });
                }
                tx.execute(sql!("instances/remove"), params![tenant, instance])
                    .await?;
                Ok(name)
            })
        })
        .await
    }

    /// Whether an instance is registered for a tenant, as far as this process has seen.
    pub(crate) fn knows(&self, tenant: TenantId, instance: InstanceId) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(tenant, instance))
    }

    /// Notes that an instance is registered for a tenant.
    pub(crate) fn note_known(&self, tenant: TenantId, instance: InstanceId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((tenant, instance));
    }

    /// Lists the instances by name, each with how many queued runs wait for it.
    pub async fn instances(&self, scope: Scope) -> Result<Vec<InstanceStanding>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("instances/waiting"), params![scope.tenant()])
            .await?;
        found.iter().map(standing).collect()
    }
}

/// Takes back that tenants have given an instance up, since its data folder is served.
async fn bring_back(tx: &mut Tx, instance: InstanceId) -> Result<(), Error> {
    let back = tx
        .fetch_all(sql!("instances/back"), params![instance])
        .await?;
    if !back.is_empty() {
        tracing::info!(%instance, "the instance {instance} had been given up, and is served again");
    }
    Ok(())
}

fn standing(row: &Row) -> Result<InstanceStanding, Error> {
    let server = serving(row)?;
    let used: Option<Timestamp> = row.optional("last_seen_at")?;
    Ok(InstanceStanding {
        id: row.get("id")?,
        name: row.get("name")?,
        last_seen_at: used.max(server.as_ref().map(|server| server.seen_at)),
        server,
        waiting: row.get("waiting")?,
        too_new: row.get("too_new")?,
    })
}

/// The server that a row tells of, if there is one.
fn serving(row: &Row) -> Result<Option<Serving>, Error> {
    let Some(worker) = row.optional::<WorkerId>("worker_id")? else {
        return Ok(None);
    };
    Ok(Some(Serving {
        worker,
        version: row.get("version")?,
        format: row.get("format")?,
        seen_at: row.get("seen_at")?,
        stopped_at: row.optional("stopped_at")?,
    }))
}
