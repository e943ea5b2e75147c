//! The sweeps of the watchdog and the scheduler: they stall runs whose worker is lost, end the waits for removed
//! instances, and promote runs whose backoff has ended. No worker and no other transition moves such runs.
//!
//! **Invariant:** a sweep searches without locks. It then locks each run or seat in a transaction of its own and
//! checks the condition again, because the worker may have sent a heartbeat in the meantime.

use model::{
    InstanceId, RunId, SeatId, Timestamp, WorkerId,
    entity::Run,
    event::RunChange,
    outcome::{FailureKind, Outcome, RunFailure},
    run::{Origin, RunStatus},
    turn::{TurnResult, WriteOutcome},
};
use serde_json::{Value, json};

use crate::{
    Error, Scope, boxed,
    database::Tx,
    locks::lock_run,
    runs::{
        admit::{Promoted, promote_on_seat},
        end::{end_run, failure_as_cancellation},
        record::read_live_text,
    },
    session_log::SessionLogWriter,
    store::Store,
};

/// Maximum number of rows that one query of a sweep returns.
const MAX_ROWS_PER_QUERY: u32 = 200;

/// The result of [`Store::promote_due`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromotionReport {
    /// The number of runs that were promoted because their backoff has ended.
    pub backoff_ended: u32,
    /// The number of runs that an earlier promotion should have queued. Each one indicates a fault of the program.
    pub missed_promotions: u32,
}

/// The condition under which the worker of a run counts as lost.
#[derive(Clone, Copy)]
enum LossCondition<'a> {
    /// The heartbeat of the run is older than this instant.
    HeartbeatBefore(Timestamp),
    /// The run belongs to this worker, which no longer runs.
    Worker(&'a WorkerId),
}

impl Store {
    /// Stalls up to 200 runs whose heartbeat is older than `stale_before`, and creates their next attempts. The live
    /// text of each run becomes the answer in the transcript. Returns the stalled runs.
    #[boxed]
    pub async fn stall_stale_runs(
        &self,
        stale_before: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<RunId>, Error> {
        let stale = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(
                sql!("heartbeats/stale"),
                params![stale_before, MAX_ROWS_PER_QUERY],
            )
            .await?
        };
        let mut stalled = Vec::new();
        for row in &stale {
            let run: RunId = row.get("run_id")?;
            if self
                .stall_one(run, LossCondition::HeartbeatBefore(stale_before), now)
                .await?
            {
                stalled.push(run);
            }
        }
        Ok(stalled)
    }

    /// Lists the runs that are executed on an instance, with their workers. Includes runs that any worker has claimed
    /// but not begun, because such a run may have no instance yet.
    #[boxed]
    pub async fn runs_executing_on(
        &self,
        instance: InstanceId,
    ) -> Result<Vec<(RunId, WorkerId)>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("runs/executing_on_instance"), params![instance])
            .await?;
        let pair = |row: &db::Row| Ok((row.get("id")?, row.get("worker_id")?));
        found.iter().map(pair).collect()
    }

    /// Stalls a run whose worker no longer runs, without the wait for a stale heartbeat. Returns `true` if the
    /// run was stalled.
    #[boxed]
    pub async fn stall_run(
        &self,
        run: RunId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.stall_one(run, LossCondition::Worker(worker), now)
            .await
    }

    async fn stall_one(
        &self,
        run: RunId,
        condition: LossCondition<'_>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automation and then the seat of the run.
                let Some(run) = lock_run(tx, run).await? else {
                    return Ok(false);
                };
                // 2. Check that the worker is lost. A heartbeat may have arrived between the search and the lock.
                // `heartbeats/delete_stale` compares and deletes in one statement, so that a run whose worker is alive
                // is not stalled.
                let is_lost = match condition {
                    LossCondition::HeartbeatBefore(at) => {
                        tx.execute(sql!("heartbeats/delete_stale"), params![run.id, at])
                            .await?
                            > 0
                    }
                    LossCondition::Worker(worker) => run.state.worker_id() == Some(worker),
                };
                if !is_lost || !matches!(run.status(), RunStatus::Delivered | RunStatus::Running) {
                    return Ok(false);
                }
                // 3. End the run. Its answer is the text that the lost worker had written.
                let failure = RunFailure {
                    kind: FailureKind::WorkerLost,
                    prompted: run.status() == RunStatus::Running,
                    message: "the worker that executed it was lost".into(),
                };
                let (answer, _) = read_live_text(tx, Scope::System, run.id, 0).await?;
                let finished = TurnResult {
                    answer,
                    diagnostics: lost_worker_diagnostics(&run),
                    ..TurnResult::with_outcome(Outcome::Failed(failure))
                };
                // If the run was to be cancelled, the loss of its worker completes the cancellation, and no retry
                // follows.
                let finished = failure_as_cancellation(tx, &run, &finished).await?;
                let mut log = SessionLogWriter::default();
                let ended = end_run(self, tx, &run, &mut log, &finished, now).await?;
                log.write(tx, now).await?;
                Ok(ended == WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Ends the waits of queued runs for removed instances. A run whose agent has its memory there fails, and so does one that
    /// a person has placed there. The turn of a task that waits there for files alone begins elsewhere. Returns the number of
    /// these runs.
    #[boxed]
    pub async fn end_waits_for_removed_instances(&self, now: Timestamp) -> Result<u32, Error> {
        let mut ended = 0;
        loop {
            let queued = {
                let mut tx = self.db.begin_read(Scope::System).await?;
                tx.fetch_all(
                    sql!("runs/of_removed_instances"),
                    params![None::<RunId>, MAX_ROWS_PER_QUERY],
                )
                .await?
            };
            let before = ended;
            for row in &queued {
                if self
                    .end_wait_for_removed_instance(row.get("id")?, now)
                    .await?
                {
                    ended += 1;
                }
            }
            // The end of a run promotes the next one on its seat, which may be pinned to the same instance. Search
            // again until a round ends no wait.
            if ended == before {
                return Ok(ended);
            }
        }
    }

    async fn end_wait_for_removed_instance(
        &self,
        run: RunId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let Some(run) = lock_run(tx, run).await? else {
                    return Ok(false);
                };
                // The instance may have returned since the search.
                let is_removed = tx
                    .fetch_optional(
                        sql!("runs/of_removed_instances"),
                        params![Some(run.id), 1_u32],
                    )
                    .await?;
                if is_removed.is_none() {
                    return Ok(false);
                }
                let mut log = SessionLogWriter::default();
                if release_from_files(tx, &mut log, &run).await? {
                    log.write(tx, now).await?;
                    return Ok(true);
                }
                let failure = RunFailure {
                    kind: FailureKind::InstanceGone,
                    prompted: false,
                    message: "the agent's memory is on an instance that was removed".into(),
                };
                let finished = TurnResult::with_outcome(Outcome::Failed(failure));
                let ended = end_run(self, tx, &run, &mut log, &finished, now).await?;
                log.write(tx, now).await?;
                Ok(ended == WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Promotes runs whose backoff has ended, and runs that an earlier promotion missed.
    #[boxed]
    pub async fn promote_due(&self, now: Timestamp) -> Result<PromotionReport, Error> {
        let mut report = PromotionReport::default();
        loop {
            let waiting = {
                let mut tx = self.db.begin_read(Scope::System).await?;
                tx.fetch_all(
                    sql!("runs/promotable_seats"),
                    params![now, MAX_ROWS_PER_QUERY],
                )
                .await?
            };
            let before = report;
            for row in &waiting {
                let seat: SeatId = row.get("seat_id")?;
                let promoted = self
                    .transact(Scope::System, |tx, _| {
                        Box::pin(async move { promote_on_seat(tx, seat, now).await })
                    })
                    .await?;
                match promoted {
                    Some(Promoted {
                        after_backoff: true,
                        ..
                    }) => report.backoff_ended += 1,
                    Some(Promoted {
                        after_backoff: false,
                        ..
                    }) => report.missed_promotions += 1,
                    None => {}
                }
            }
            // Stop after a full batch from which no run was promoted. Otherwise the next query would return the same
            // rows, without end.
            if waiting.len() < MAX_ROWS_PER_QUERY as usize || report == before {
                break;
            }
        }
        Ok(report)
    }
}

/// Pins the turn of a task anew that waits for a removed instance only because other seats share files there. Returns `false`
/// for another run. The caller must hold the lock of its seat.
///
/// The files are lost with the instance, so that they pin the turn no longer. A failure would count as an attempt at the task,
/// although no agent has tried it.
async fn release_from_files(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    run: &Run,
) -> Result<bool, Error> {
    let (Some(session), Some(seat), Some(_), RunStatus::Queued) =
        (run.session_id, run.seat_id, run.task, run.status())
    else {
        return Ok(false);
    };
    // A seat without an instance has begun no turn, so that it has no memory either.
    let rows = vec![params![seat]];
    let seats = tx.fetch_rows(sql!("seats/by_ids"), rows, params![]).await?;
    for seat in &seats {
        let pinned_to: Option<InstanceId> = seat.optional("instance_id")?;
        let placed_on: Option<InstanceId> = seat.optional("placed_on")?;
        if pinned_to.is_some() || placed_on.is_some() {
            return Ok(false);
        }
    }
    // The promotion pins the run to the files that other seats still share, or to none, and wakes the workers of all servers.
    // A server that has come back may have claimed the run meanwhile, so its heartbeat goes, too.
    let own = Origin::Message.priority();
    tx.execute(sql!("runs/defer"), params![run.id, own]).await?;
    tx.execute(sql!("heartbeats/delete"), params![run.id])
        .await?;
    let rows = vec![params![run.id]];
    tx.fetch_rows(sql!("runs/promote"), rows, params![]).await?;
    log.add_run_change(session, run.id, RunChange::Queued { input: None });
    Ok(true)
}

/// Returns the diagnostics of a run whose worker could not finish it.
fn lost_worker_diagnostics(run: &Run) -> Value {
    json!({ "worker_id": run.state.worker_id(), "started_at": run.state.started_at() })
}
