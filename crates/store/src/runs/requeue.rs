//! Claimed runs that wait for a worker again.

use model::{InstanceId, entity::Run, event::RunChange};

use crate::{
    Error, database::Tx, runs::start_candidate::StartCandidate, session_log::SessionLogWriter,
};

/// Requeues a claimed run that has not begun, so that another server can claim it.
pub(super) async fn requeue(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    run: &Run,
) -> Result<(), Error> {
    let requeued = tx.execute(sql!("runs/requeue"), params![run.id]).await?;
    log_requeue(tx, log, run, requeued).await
}

/// Requeues the run of a goal on the instance of the files that its seats share, if that is not `instance`. A turn of another
/// seat has begun there since the run was queued. Returns `true` if the run was requeued.
///
/// The caller must hold the locks of all seats of the goal, so that no other turn begins meanwhile.
pub(super) async fn requeue_at_files(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    candidate: &StartCandidate,
    instance: InstanceId,
) -> Result<bool, Error> {
    let StartCandidate { run, seat, .. } = candidate;
    if !candidate.shares_files_of_goal || seat.instance_id.is_some() || seat.placed_on.is_some() {
        return Ok(false);
    }
    let params = params![run.id, seat.session_id, instance];
    let requeued = tx.execute(sql!("runs/requeue_at_files"), params).await?;
    log_requeue(tx, log, run, requeued).await?;
    Ok(requeued > 0)
}

async fn log_requeue(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    run: &Run,
    requeued: u64,
) -> Result<(), Error> {
    if let (1.., Some(session)) = (requeued, run.session_id) {
        tx.execute(sql!("heartbeats/delete"), params![run.id])
            .await?;
        log.add_run_change(session, run.id, RunChange::Queued { input: None });
    }
    Ok(())
}
