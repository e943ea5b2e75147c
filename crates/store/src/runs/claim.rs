//! Claiming queued runs for a worker.

use model::{InstanceId, RunId, Timestamp, WorkerId, turn::Claimed};

use crate::{
    Error, Scope,
    store::{Store, transact},
};

impl Store {
    /// Claims up to `limit` queued runs, people's first, for a worker of `instance`; or only the run
    /// `only`. Each run is claimed once. Runs whose memory lies on another instance are left to it.
    pub async fn claim(
        &self,
        worker: &WorkerId,
        instance: InstanceId,
        limit: u32,
        only: Option<RunId>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, Error> {
        transact!(self, Scope::System, |tx| {
            let found = tx
                .fetch_all(
                    sql_by_dialect!("runs/claim"),
                    params![worker.as_str(), now, instance, limit, only],
                )
                .await?;
            let mut claimed = Vec::with_capacity(found.len());
            let mut heartbeats = Vec::with_capacity(found.len());
            for row in &found {
                let run = Claimed {
                    run: row.get("id")?,
                    tenant: row.get("tenant_id")?,
                    attempt: row.get("attempt")?,
                    input_at: row.get("input_at")?,
                };
                heartbeats.push(params![run.run, run.tenant, worker.as_str(), now]);
                claimed.push(run);
            }
            tx.execute_rows(sql!("heartbeats/insert"), heartbeats, params![])
                .await?;
            Ok(claimed)
        })
    }
}
