//! The heartbeats of runs, and the replies to them.
//!
//! **Invariant:** a worker whose heartbeat is not renewed gets [`HeartbeatReply::Fenced`] and must stop its agent,
//! because the watchdog may have given the input to another worker.

use std::collections::{HashMap, HashSet};

use model::{InstanceId, RunId, Timestamp, WorkerId, turn::HeartbeatReply};

use crate::batches::HeartbeatRequest;
use crate::{
    Error, Scope, boxed,
    database::{Param, Tx},
    locks,
    store::Store,
};

impl Store {
    /// Renews the heartbeat of one run, in one batch with the heartbeats that arrive at the same time.
    #[boxed]
    pub async fn renew_heartbeat(
        &self,
        run: RunId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<HeartbeatReply, Error> {
        let request = HeartbeatRequest {
            run,
            worker: worker.clone(),
            now,
        };
        self.batches
            .heartbeat
            .submit(self, request, |store, all| {
                Box::pin(store.heartbeat_batch(all))
            })
            .await
    }

    /// Renews the heartbeats of one worker in one transaction. Returns one reply for each request, in order.
    pub(crate) async fn heartbeat_batch(
        &self,
        all: &[HeartbeatRequest],
    ) -> Result<Vec<HeartbeatReply>, Error> {
        let (Some(first), Some(now)) = (all.first(), all.iter().map(|request| request.now).max())
        else {
            return Ok(Vec::new());
        };
        let runs: Vec<RunId> = all.iter().map(|request| request.run).collect();
        self.renew_heartbeats(&first.worker, &runs, now).await
    }

    /// Renews the heartbeats of a worker's runs. Returns one reply for each run, in order.
    #[boxed]
    pub async fn renew_heartbeats(
        &self,
        worker: &WorkerId,
        runs: &[RunId],
        now: Timestamp,
    ) -> Result<Vec<HeartbeatReply>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Read which runs the worker still executes, and the requests to cancel.
                let rows: Vec<_> = runs.iter().map(|run| params![*run]).collect();
                let owner = params![worker.as_str()];
                let executing = tx
                    .fetch_rows(sql!("runs/executing"), rows.clone(), owner)
                    .await?;
                let mut cancel_reasons: HashMap<RunId, Option<String>> = HashMap::new();
                for row in &executing {
                    cancel_reasons.insert(row.get("id")?, row.optional("cancel_reason")?);
                }
                // 2. Renew. The watchdog may stall a run while this statement waits for its lock. The statement then
                // finds no heartbeat, and the reply is `Fenced`.
                locks::lock_heartbeats(tx, runs.iter().copied()).await?;
                let renewed = tx
                    .fetch_rows(
                        sql!("heartbeats/renew"),
                        rows,
                        params![worker.as_str(), now],
                    )
                    .await?;
                // 3. Reply. The worker has lost each run that either statement omits.
                let mut replies: HashMap<RunId, HeartbeatReply> = HashMap::new();
                for row in &renewed {
                    let run: RunId = row.get("run_id")?;
                    if let Some(reason) = cancel_reasons.remove(&run) {
                        replies.insert(
                            run,
                            reason.map_or(HeartbeatReply::Continue, HeartbeatReply::Cancel),
                        );
                    }
                }
                let replies = runs
                    .iter()
                    .map(|run| replies.get(run).cloned().unwrap_or(HeartbeatReply::Fenced));
                Ok(replies.collect())
            })
        })
        .await
    }

    /// Returns the oldest heartbeat of all runs that a worker has. Returns `None` if no worker has a run.
    #[boxed]
    pub async fn oldest_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        Ok(tx
            .fetch_one(sql!("heartbeats/oldest"), params![])
            .await?
            .optional("at")?)
    }
}

/// Marks claimed runs as running and renews their heartbeats. Returns the runs that the worker still owns.
///
/// The renewal gives the agent's process a full lease from now on. Without it, the heartbeat of a worker that was
/// frozen since its claim would look stale while its agent's process runs, and the watchdog would start a second
/// agent.
pub(super) async fn set_running(
    tx: &mut Tx,
    rows_to_begin: Vec<Vec<Param>>,
    worker: &WorkerId,
    instance: InstanceId,
    now: Timestamp,
) -> Result<HashSet<RunId>, Error> {
    let whole = params![worker.as_str(), now, instance];
    let rows = tx
        .fetch_rows(sql!("runs/begin"), rows_to_begin, whole)
        .await?;
    let ids = rows.iter().map(|row| row.get("id"));
    let running: HashSet<RunId> = ids.collect::<Result<_, _>>()?;
    renew(tx, running.iter().copied(), worker, now).await?;
    Ok(running)
}

/// Renews the heartbeats of runs. Returns those runs that still have a heartbeat of this worker.
pub(super) async fn renew(
    tx: &mut Tx,
    runs: impl ExactSizeIterator<Item = RunId> + Clone,
    worker: &WorkerId,
    now: Timestamp,
) -> Result<HashSet<RunId>, Error> {
    locks::lock_heartbeats(tx, runs.clone()).await?;
    let heartbeats = runs.map(|run| params![run]).collect();
    let whole = params![worker.as_str(), now];
    let renewed = tx
        .fetch_rows(sql!("heartbeats/renew"), heartbeats, whole)
        .await?;
    let ids = renewed.iter().map(|row| row.get("run_id"));
    Ok(ids.collect::<Result<_, _>>()?)
}
