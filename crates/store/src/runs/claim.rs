//! The claim of queued runs by workers.

use std::sync::PoisonError;

use model::{InstanceId, RunId, TenantId, Timestamp, WorkerId, turn::ClaimedRun};

use crate::{
    Error, Scope, boxed,
    database::Row,
    generic_plan::fetch_with_generic_plan,
    store::Store,
    stored::{self, DOCUMENT_FORMAT},
    trigger_files::take_trigger_files,
};

impl Store {
    /// Claims up to `limit` queued runs for a worker of `instance`, or only the run `only`, which may also be one whose
    /// trigger file waits on the instance. Each run is claimed once.
    /// The claim is fair between tenants: the next run is always one of the tenant with the fewest runs in progress.
    /// Omits runs that are pinned to another instance, runs that the instance has refused because it does not have
    /// their directory, and runs with a document that needs a later format.
    #[boxed]
    pub async fn claim(
        &self,
        worker: &WorkerId,
        instance: InstanceId,
        limit: u32,
        only: Option<RunId>,
        now: Timestamp,
    ) -> Result<Vec<ClaimedRun>, Error> {
        let claimed = self
            .transact(Scope::System, |tx, _| {
                Box::pin(async move {
                    // 1. Claim. The statement chooses and locks the runs at once, so that two workers never claim the
                    // same run.
                    let found = if let Some(run) = only {
                        let params = params![worker.as_str(), now, instance, run, DOCUMENT_FORMAT];
                        tx.fetch_all(sql!("runs/claim_one"), params).await?
                    } else {
                        let served = self.last_claimed_tenant();
                        let params = params![
                            worker.as_str(),
                            now,
                            instance,
                            limit,
                            served,
                            DOCUMENT_FORMAT
                        ];
                        fetch_with_generic_plan(tx, sql_by_dialect!("runs/claim"), params).await?
                    };
                    // 2. Collect the claimed runs.
                    let claimed = found.iter().map(claimed_run);
                    let claimed: Vec<ClaimedRun> = claimed.collect::<Result<_, _>>()?;
                    if only.is_some() {
                        let runs = claimed.iter().map(|claimed| claimed.run);
                        take_trigger_files(tx, runs, now).await?;
                    }
                    // 3. Write the heartbeats. A heartbeat starts with the claim, so that the watchdog finds a run
                    // whose worker is lost before the turn begins.
                    let heartbeats = claimed
                        .iter()
                        .map(|run| params![run.run, run.tenant, worker.as_str(), now]);
                    let heartbeats = heartbeats.collect();
                    tx.execute_rows(sql!("heartbeats/insert"), heartbeats, params![])
                        .await?;
                    Ok(claimed)
                })
            })
            .await?;
        // 4. Remember the tenant that this claim served last, in the rotation that starts after the previous one. The
        // next claim continues after it, so that among tenants with equal loads none starves. Not before the commit, so
        // that a claim that fails does not pass over a tenant.
        let served = self.last_claimed_tenant();
        let tenants = claimed.iter().map(|run| run.tenant);
        if let Some(last) =
            tenants.max_by_key(|tenant| (served.is_some_and(|last| *tenant <= last), *tenant))
        {
            self.set_last_claimed_tenant(last);
        }
        Ok(claimed)
    }

    /// Lists the runs that a worker has claimed but not begun.
    #[boxed]
    pub async fn runs_claimed_by(&self, worker: &WorkerId) -> Result<Vec<ClaimedRun>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("runs/claimed_by_worker"), params![worker.as_str()])
            .await?;
        found.iter().map(claimed_run).collect()
    }

    /// Returns the tenant that this process served last. The next claim continues after it.
    fn last_claimed_tenant(&self) -> Option<TenantId> {
        *self
            .last_claimed_tenant
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn set_last_claimed_tenant(&self, tenant: TenantId) {
        *self
            .last_claimed_tenant
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(tenant);
    }
}

fn claimed_run(row: &Row) -> Result<ClaimedRun, Error> {
    Ok(ClaimedRun {
        run: row.get("id")?,
        tenant: row.get("tenant_id")?,
        attempt: row.get("attempt")?,
        input_at: row.get("input_at")?,
        directory: stored::given_directory(row.get("cwd")?, row.get("session_id")?),
    })
}
