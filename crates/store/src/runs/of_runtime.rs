//! The runs of a runtime, which knows them by their IDs alone and proves by its token to which instance it belongs.

use std::collections::HashSet;

use model::{InstanceId, RunId, TenantId, Timestamp, WorkerId};

use crate::{Error, Scope, boxed, store::Store};

impl Store {
    /// Returns `true` if a tenant has a run, and the run is executed or placed on an instance.
    #[boxed]
    pub async fn is_run_of_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        run: RunId,
    ) -> Result<bool, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let params = params![run, tenant, instance];
        let found = tx
            .fetch_optional(sql!("runs/is_of_instance"), params)
            .await?;
        Ok(found.is_some())
    }

    /// Returns `true` if a run of any tenant is not over and belongs to another instance than the given one, which must
    /// then leave the run's trigger file alone.
    #[boxed]
    pub async fn is_open_on_other_instance(
        &self,
        instance: InstanceId,
        run: RunId,
    ) -> Result<bool, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let params = params![run, instance];
        let found = tx
            .fetch_optional(sql!("runs/open_on_other_instance"), params)
            .await?;
        Ok(found.is_some())
    }

    /// Returns those of `runs` about which `worker` should learn by a heartbeat: a cancellation was requested, or the
    /// worker no longer executes the run.
    #[boxed]
    pub async fn disturbed_runs(
        &self,
        tenant: TenantId,
        worker: &WorkerId,
        runs: &[RunId],
    ) -> Result<Vec<RunId>, Error> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let rows = runs.iter().map(|run| params![*run]).collect();
        let found = tx
            .fetch_rows(sql!("runs/undisturbed"), rows, params![worker.as_str()])
            .await?;
        let undisturbed: Result<HashSet<RunId>, _> =
            found.iter().map(|row| row.get("id")).collect();
        let undisturbed = undisturbed?;
        let runs = runs.iter().copied();
        Ok(runs.filter(|run| !undisturbed.contains(run)).collect())
    }

    /// Stalls the runs of a tenant that `worker` executes on an instance, because the worker no longer runs. Returns the
    /// stalled runs.
    #[boxed]
    pub async fn stall_runs_of_worker(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<Vec<RunId>, Error> {
        let executing = {
            let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
            let params = params![instance, worker.as_str(), tenant];
            tx.fetch_all(sql!("runs/executing_by_worker"), params)
                .await?
        };
        let mut stalled = Vec::new();
        for row in &executing {
            let run = row.get("id")?;
            if self.stall_run(run, worker, now).await? {
                stalled.push(run);
            }
        }
        Ok(stalled)
    }
}
