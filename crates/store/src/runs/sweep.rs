//! What the watchdog and the scheduler do for runs that nobody moves: stall the lost, promote the left
//! behind.

use model::{
    InstanceId, RunId, SeatId, Timestamp, WorkerId,
    outcome::{Failure, FailureKind, Outcome},
    run::RunStatus,
    turn::{Finished, Settled},
};

use crate::{
    Error, Scope,
    locks::lock_run,
    runs::{
        end::{called_off, end, lost_diagnostics},
        place::{Promoted, promote_on_seat},
        record::text_from,
    },
    store::Store,
};

/// How many rows one look takes at the most.
const BATCH: u32 = 200;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Attempts that start because their backoff is over.
    pub backoffs: u32,
    /// Inputs that a promotion had left behind: each is a fault.
    pub faults: u32,
}

/// Why a run's worker counts as lost.
#[derive(Clone, Copy)]
enum Stale<'a> {
    /// Its heartbeat is older than this.
    Before(Timestamp),
    /// It is this one, and gone.
    Worker(&'a WorkerId),
}

impl Store {
    /// Stalls the runs whose heartbeat is older than `stale_before`, with their next attempts. What
    /// their agents had written so far goes to the transcript. Gives those that were stalled.
    pub async fn stall(
        &self,
        stale_before: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<RunId>, Error> {
        let stale = {
            let mut tx = self.db.read(Scope::System).await?;
            tx.fetch_all(sql!("heartbeats/stale"), params![stale_before, BATCH])
                .await?
        };
        let mut stalled = Vec::new();
        for row in &stale {
            let run: RunId = row.get("run_id")?;
            if self
                .stall_one(run, Stale::Before(stale_before), now)
                .await?
            {
                stalled.push(run);
            }
        }
        Ok(stalled)
    }

    /// Runs that are executed on an instance, or claimed and not begun yet anywhere, with their
    /// workers.
    pub async fn executing_on(
        &self,
        instance: InstanceId,
    ) -> Result<Vec<(RunId, WorkerId)>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("runs/executing_on"), params![instance])
            .await?;
        let pair = |row: &db::Row| Ok((row.get("id")?, row.get("worker_id")?));
        found.iter().map(pair).collect()
    }

    /// Stalls a run whose worker is known to be gone, without waiting for its heartbeat to be stale.
    pub async fn stall_run(
        &self,
        run: RunId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.stall_one(run, Stale::Worker(worker), now).await
    }

    async fn stall_one(&self, run: RunId, stale: Stale<'_>, now: Timestamp) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let Some(run) = lock_run(tx, run).await? else {
                    return Ok(false);
                };
                // A heartbeat may have come between the look and the lock.
                let still = match stale {
                    Stale::Before(at) => {
                        tx.execute(sql!("heartbeats/take"), params![run.id, at])
                            .await?
                            > 0
                    }
                    Stale::Worker(worker) => run.state.worker_id() == Some(worker),
                };
                if !still || !matches!(run.status(), RunStatus::Delivered | RunStatus::Running) {
                    return Ok(false);
                }
                let failure = Failure {
                    kind: FailureKind::WorkerLost,
                    prompted: run.status() == RunStatus::Running,
                    message: "the worker that executed it was lost".into(),
                };
                let (answer, _) = text_from(tx, Scope::System, run.id, 0).await?;
                let finished = Finished {
                    answer,
                    diagnostics: lost_diagnostics(&run),
                    ..Finished::bare(Outcome::Failed(failure))
                };
                let finished = called_off(tx, &run, &finished).await?;
                Ok(end(self, tx, &run, &finished, now).await? == Settled::Written)
            })
        })
        .await
    }

    /// Fails queued runs whose memory lies on an instance that is gone. Gives how many.
    pub async fn fail_gone(&self, now: Timestamp) -> Result<u32, Error> {
        let mut failed = 0;
        loop {
            let of_gone = {
                let mut tx = self.db.read(Scope::System).await?;
                tx.fetch_all(sql!("runs/of_gone"), params![None::<RunId>, BATCH])
                    .await?
            };
            let before = failed;
            for row in &of_gone {
                if self.fail_one_gone(row.get("id")?, now).await? {
                    failed += 1;
                }
            }
            // What waited behind one that failed may be next.
            if failed == before {
                return Ok(failed);
            }
        }
    }

    async fn fail_one_gone(&self, run: RunId, now: Timestamp) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let Some(run) = lock_run(tx, run).await? else {
                    return Ok(false);
                };
                // Its instance may be back by now.
                let still = tx
                    .fetch_optional(sql!("runs/of_gone"), params![Some(run.id), 1_u32])
                    .await?;
                if still.is_none() {
                    return Ok(false);
                }
                let failure = Failure {
                    kind: FailureKind::InstanceGone,
                    prompted: false,
                    message: "the agent's memory lies on an instance that is gone".into(),
                };
                let finished = Finished::bare(Outcome::Failed(failure));
                Ok(end(self, tx, &run, &finished, now).await? == Settled::Written)
            })
        })
        .await
    }

    /// Lets runs start whose backoff is over, and whatever a promotion left behind.
    pub async fn promote_due(&self, now: Timestamp) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        loop {
            let waiting = {
                let mut tx = self.db.read(Scope::System).await?;
                tx.fetch_all(sql!("runs/left_behind"), params![now, BATCH])
                    .await?
            };
            let before = swept;
            for row in &waiting {
                let seat: SeatId = row.get("seat_id")?;
                let promoted = self
                    .transact(Scope::System, |tx, _| {
                        Box::pin(async move { promote_on_seat(tx, seat, now).await })
                    })
                    .await?;
                match promoted {
                    Some(Promoted { backoff: true, .. }) => swept.backoffs += 1,
                    Some(Promoted { backoff: false, .. }) => swept.faults += 1,
                    None => {}
                }
            }
            // What is in the way of a whole batch is in the way of the next look as well.
            if waiting.len() < BATCH as usize || swept == before {
                break;
            }
        }
        Ok(swept)
    }
}
