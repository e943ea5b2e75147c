//! Heartbeats of runs, and what they are answered.

use std::collections::{HashMap, HashSet};

use model::{InstanceId, RunId, Timestamp, WorkerId, turn::Beat};

use super::batches::Beating;
use crate::{
    Error, Scope,
    database::{Param, Tx},
    store::Store,
};

impl Store {
    /// Renews the heartbeat of one run, together with those that are renewed at the same time.
    pub async fn beat(&self, run: RunId, worker: &WorkerId, now: Timestamp) -> Result<Beat, Error> {
        let beating = Beating {
            run,
            worker: worker.clone(),
            now,
        };
        self.batches
            .beat
            .submit(self, beating, |store, all| Box::pin(store.beat_all(all)))
            .await
    }

    pub(crate) async fn beat_all(&self, all: &[Beating]) -> Result<Vec<Beat>, Error> {
        let (Some(first), Some(now)) = (all.first(), all.iter().map(|one| one.now).max()) else {
            return Ok(Vec::new());
        };
        let runs: Vec<RunId> = all.iter().map(|one| one.run).collect();
        self.heartbeat(&first.worker, &runs, now).await
    }

    /// Renews the heartbeats of a worker's runs and answers for each: go on, cancel, or lost.
    pub async fn heartbeat(
        &self,
        worker: &WorkerId,
        runs: &[RunId],
        now: Timestamp,
    ) -> Result<Vec<Beat>, Error> {
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
                // One may be stalled while this waits: then it is not renewed.
                let renewed = tx
                    .fetch_rows(
                        sql!("heartbeats/renew"),
                        rows,
                        params![worker.as_str(), now],
                    )
                    .await?;
                let mut beats: HashMap<RunId, Beat> = HashMap::new();
                for row in &renewed {
                    let run: RunId = row.get("run_id")?;
                    if let Some(cancel) = cancels.remove(&run) {
                        beats.insert(run, cancel.map_or(Beat::GoOn, Beat::Cancel));
                    }
                }
                let beats = runs
                    .iter()
                    .map(|run| beats.get(run).cloned().unwrap_or(Beat::Lost));
                Ok(beats.collect())
            })
        })
        .await
    }

    /// The oldest heartbeat of all runs under way, if there is any.
    pub async fn oldest_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        Ok(tx
            .fetch_one(sql!("heartbeats/oldest"), params![])
            .await?
            .optional("at")?)
    }
}

/// Has claimed runs run, and renews their heartbeats; gives those that were not lost.
///
/// The agent may live for a lease from now on. A worker may have been frozen since its claim, whose heartbeat would
/// look stale while the agent lives.
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
