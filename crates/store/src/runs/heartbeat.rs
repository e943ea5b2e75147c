//! The heartbeats of runs, and the replies to them.
//!
//! **Invariant:** a worker whose heartbeat is not renewed gets [`Beat::Lost`] and must stop its agent, because the
//! watchdog may have given the input to another worker.

use std::collections::{HashMap, HashSet};

use model::{InstanceId, RunId, Timestamp, WorkerId, turn::HeartbeatReply};

use super::batches::HeartbeatRequest;
use crate::{
    Error, Scope,
    database::{Param, Tx},
    store::Store,
};

impl Store {
    /// Renews the heartbeat of one run, in one batch with the heartbeats that arrive at the same time.
    pub async fn renew_heartbeat(
        &self,
        run: RunId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<HeartbeatReply, Error> {
        let beating = HeartbeatRequest {
            run,
            worker: worker.clone(),
            now,
        };
        self.batches
            .heartbeat
            .submit(self, beating, |store, all| {
                Box::pin(store.heartbeat_batch(all))
            })
            .await
    }

    pub(crate) async fn heartbeat_batch(
        &self,
        all: &[HeartbeatRequest],
    ) -> Result<Vec<HeartbeatReply>, Error> {
        let (Some(first), Some(now)) = (all.first(), all.iter().map(|one| one.now).max()) else {
            return Ok(Vec::new());
        };
        let runs: Vec<RunId> = all.iter().map(|one| one.run).collect();
        self.renew_heartbeats(&first.worker, &runs, now).await
    }

    /// Renews the heartbeats of a worker's runs. Returns one reply for each run, in order: continue, cancel, or lost.
    pub async fn renew_heartbeats(
        &self,
        worker: &WorkerId,
        runs: &[RunId],
        now: Timestamp,
    ) -> Result<Vec<HeartbeatReply>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let rows: Vec<_> = runs.iter().map(|run| params![*run]).collect();
                let whole = params![worker.as_str()];
                let executing = tx
                    .fetch_rows(sql!("runs/executing"), rows.clone(), whole)
                    .await?;
                let mut cancels: HashMap<RunId, Option<String>> = HashMap::new();
                for row in &executing {
                    cancels.insert(row.get("id")?, row.optional("cancel_reason")?);
                }
                // The watchdog may stall a run while this statement waits for its lock. The heartbeat is gone then,
                // and the reply is `Lost`.
                let renewed = tx
                    .fetch_rows(
                        sql!("heartbeats/renew"),
                        rows,
                        params![worker.as_str(), now],
                    )
                    .await?;
                let mut beats: HashMap<RunId, HeartbeatReply> = HashMap::new();
                for row in &renewed {
                    let run: RunId = row.get("run_id")?;
                    if let Some(cancel) = cancels.remove(&run) {
                        beats.insert(
                            run,
                            cancel.map_or(HeartbeatReply::Continue, HeartbeatReply::Cancel),
                        );
                    }
                }
                let beats = runs
                    .iter()
                    .map(|run| beats.get(run).cloned().unwrap_or(HeartbeatReply::Fenced));
                Ok(beats.collect())
            })
        })
        .await
    }

    /// Returns the oldest heartbeat of all runs that a worker has. Returns `None` if no worker has a run.
    pub async fn oldest_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        Ok(tx
            .fetch_one(sql!("heartbeats/oldest"), params![])
            .await?
            .optional("at")?)
    }
}

/// Marks claimed runs as running and renews their heartbeats. Returns the runs that the worker has not lost.
///
/// The renewal gives the agent a full lease from now on. Without it, the heartbeat of a worker that was frozen since
/// its claim would look stale while its agent runs, and the watchdog would start a second agent.
pub(super) async fn set_running(
    tx: &mut Tx,
    begins: Vec<Vec<Param>>,
    worker: &WorkerId,
    instance: InstanceId,
    now: Timestamp,
) -> Result<HashSet<RunId>, Error> {
    let whole = params![worker.as_str(), now, instance];
    let rows = tx.fetch_rows(sql!("runs/begin"), begins, whole).await?;
    let ids = rows.iter().map(|row| row.get("id"));
    let begun: HashSet<RunId> = ids.collect::<Result<_, _>>()?;
    let beats = begun.iter().map(|run| params![*run]).collect();
    let whole = params![worker.as_str(), now];
    tx.fetch_rows(sql!("heartbeats/renew"), beats, whole)
        .await?;
    Ok(begun)
}
