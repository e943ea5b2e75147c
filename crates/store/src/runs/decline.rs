//! The skip of runs whose prechecks declined them.

use std::collections::BTreeSet;

use model::{
    RunId, SeatId, SessionId, Timestamp, WorkerId,
    entity::Run,
    event::{Occurrences, RunChange, SkippedWork},
    lifecycle::Lifecycle,
    run::{RunEvent, SkipReason},
    turn::DeclineOutcome,
};
use serde_json::Value;

use crate::{
    Error, Scope,
    automations::{self, log::AutomationLogEntry},
    boxed,
    changes::note_change,
    database::Tx,
    locks::lock_runs,
    runs::{
        admit::promote_after,
        goals::{EndedTurn, end_turns},
    },
    session_log::SessionLogWriter,
    store::Store,
};

impl Store {
    /// Skips a run that `worker` has claimed but not begun, because its precheck has declined, and promotes the runs
    /// that waited for it. Stores `diagnostics` in its internal record.
    ///
    /// Deletes a session that was created for this run alone, so that a skipped occurrence leaves no empty
    /// conversation. The log of the automation then contains the skip, and the result is
    /// [`DeclineOutcome::WithSession`], so that the worker removes the folder of the session.
    #[boxed]
    pub async fn decline(
        &self,
        run: RunId,
        worker: &WorkerId,
        diagnostics: &Value,
        now: Timestamp,
    ) -> Result<DeclineOutcome, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automation and then the seat of the run.
                let mut locked = lock_runs(tx, &[run]).await?;
                let Some(run) = locked.runs.remove(&run) else {
                    return Ok(DeclineOutcome::Fenced);
                };
                // 2. Decide whether the run may still be skipped, and whether its session goes with it.
                if run.status().apply(RunEvent::Decline).is_err() {
                    return Ok(DeclineOutcome::Fenced);
                }
                // Check before the update, which removes the run from such a session.
                let disposable_session = session_created_for_run(tx, &run).await?;
                let (session, seat) = match disposable_session {
                    Some(_) => (None, None),
                    None => (run.session_id, run.seat_id),
                };
                // 3. Write. Fence: the statement compares the status and the worker, so that a stale worker cannot skip
                // a run that another worker executes.
                if !mark_skipped(tx, &run, worker, session, seat, now).await? {
                    return Ok(DeclineOutcome::Fenced);
                }
                let error: Option<&str> = None;
                tx.execute(
                    sql!("records/end"),
                    params![run.id, run.tenant_id, diagnostics, error, now],
                )
                .await?;
                let mut log = SessionLogWriter::default();
                if let Some(session) = session {
                    let change = RunChange::Skipped {
                        reason: SkipReason::Precheck.to_string(),
                        skipped: SkippedWork::Attempt(run.attempt),
                    };
                    log.add_run_change(session, run.id, change);
                }
                // 4. Start what waited for this run, and promote.
                let ended = session.map(EndedTurn::Other);
                end_turns(self, tx, &mut log, ended.as_slice(), now).await?;
                let seats = seat.into_iter().collect();
                let automations: BTreeSet<_> = run.automation_id.into_iter().collect();
                promote_after(tx, &mut log, seats, automations, now).await?;
                log.write(tx, now).await?;
                // 5. Delete the session that was created for this run alone.
                let Some(session) = disposable_session else {
                    return Ok(DeclineOutcome::Skipped);
                };
                delete_session_and_log_skip(tx, &run, session, now).await?;
                Ok(DeclineOutcome::WithSession)
            })
        })
        .await
    }
}

/// Returns the session of a run if it was created for that run alone. The result holds until the end of the
/// transaction, because any other input must first lock the seat, and the caller holds that lock.
async fn session_created_for_run(tx: &mut Tx, run: &Run) -> Result<Option<SessionId>, Error> {
    let found = tx
        .fetch_optional(
            sql!("sessions/created_for_run"),
            params![run.session_id, run.id],
        )
        .await?;
    Ok(found.map(|row| row.get("id")).transpose()?)
}

/// Marks a run as skipped. Returns `true` if the run was still the worker's.
async fn mark_skipped(
    tx: &mut Tx,
    run: &Run,
    worker: &WorkerId,
    session: Option<SessionId>,
    seat: Option<SeatId>,
    now: Timestamp,
) -> Result<bool, Error> {
    let skipped = tx
        .fetch_optional(
            sql!("runs/decline"),
            params![
                run.id,
                worker.as_str(),
                SkipReason::Precheck.as_str(),
                session,
                seat,
                now
            ],
        )
        .await?;
    if skipped.is_some() {
        tx.execute(sql!("heartbeats/delete"), params![run.id])
            .await?;
    }
    Ok(skipped.is_some())
}

/// Deletes the session that was created for a run alone, and writes the skip into the log of the automation.
async fn delete_session_and_log_skip(
    tx: &mut Tx,
    run: &Run,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    // Delete the payload: usually the deletion of the session deletes it, but `runs/decline` has removed the run from
    // its session.
    tx.execute(sql!("webhooks/forget_payload"), params![run.id])
        .await?;
    tx.execute(sql!("sessions/delete"), params![session])
        .await?;
    note_change(tx, session.uuid()).await?;
    let Some(automation) = run.automation_id else {
        return Ok(());
    };
    let change = RunChange::Skipped {
        reason: SkipReason::Precheck.to_string(),
        skipped: SkippedWork::Occurrences(Occurrences {
            trigger_id: run.trigger_id,
            scheduled_for: run.scheduled_for,
            missed_until: None,
            count: 1,
        }),
    };
    let entry = AutomationLogEntry::of_skipped(automation, run.id, change);
    automations::log::write_entries(tx, vec![entry], now).await
}
