//! Runs that their prechecks decline.

use std::collections::BTreeSet;

use model::{
    RunId, SeatId, SessionId, Timestamp, WorkerId,
    entity::Run,
    event::{Occurrences, RunChange, Skipped},
    lifecycle::Lifecycle,
    run::{RunEvent, SkipReason},
    turn::Declined,
};
use serde_json::Value;

use crate::{
    Error, Scope,
    automations::{self, log::Line},
    database::Tx,
    journal::Journal,
    locks::lock_runs,
    runs::place::promote_after,
    store::Store,
    waking::note_change,
};

impl Store {
    /// Skips a claimed run that is the worker's and not begun, because its precheck has declined, and
    /// lets what waited for it start. `diagnostics` goes to its internal record.
    ///
    /// A session that was made for this run alone goes: an occurrence that does nothing leaves no empty
    /// conversation. Its row then stands in the automation's own log, as that of any other skip, and the
    /// answer says so: its folder is the worker's to remove.
    pub async fn decline(
        &self,
        run: RunId,
        worker: &WorkerId,
        diagnostics: &Value,
        now: Timestamp,
    ) -> Result<Declined, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let mut locked = lock_runs(tx, &[run]).await?;
                let Some(run) = locked.runs.remove(&run) else {
                    return Ok(Declined::Lost);
                };
                if run.status().apply(RunEvent::Decline).is_err() {
                    return Ok(Declined::Lost);
                }
                let alone = is_alone(tx, &run).await?;
                let (session, seat) = match alone {
                    Some(_) => (None, None),
                    None => (run.session_id, run.seat_id),
                };
                if !skip(tx, &run, worker, session, seat, now).await? {
                    return Ok(Declined::Lost);
                }
                let error: Option<&str> = None;
                tx.execute(
                    sql!("records/end"),
                    params![run.id, run.tenant_id, diagnostics, error, now],
                )
                .await?;
                let mut journal = Journal::default();
                if let Some(session) = session {
                    let change = RunChange::Skipped {
                        reason: SkipReason::Precheck.to_string(),
                        skipped: Skipped::Attempt(run.attempt),
                    };
                    journal.run(session, run.id, change);
                }
                let seats = seat.into_iter().collect();
                let own: BTreeSet<_> = run.automation_id.into_iter().collect();
                promote_after(tx, &mut journal, seats, own, now).await?;
                journal.write(tx, now).await?;
                let Some(session) = alone else {
                    return Ok(Declined::Skipped);
                };
                leave(tx, &run, session, now).await?;
                Ok(Declined::WithSession)
            })
        })
        .await
    }
}

/// The session of a run, if it was made for that run alone. Whoever gives it another input locks its
/// seat before, and that is locked.
async fn is_alone(tx: &mut Tx, run: &Run) -> Result<Option<SessionId>, Error> {
    let found = tx
        .fetch_optional(
            sql!("sessions/of_run_alone"),
            params![run.session_id, run.id],
        )
        .await?;
    Ok(found.map(|row| row.get("id")).transpose()?)
}

/// Writes the skip; tells whether the run was still the worker's.
async fn skip(
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

/// Deletes the session that a run had for itself, and writes what became of the run into the log of
/// its automation.
async fn leave(tx: &mut Tx, run: &Run, session: SessionId, now: Timestamp) -> Result<(), Error> {
    // What is skipped has no prompt, and no session with which it would go one day.
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
        skipped: Skipped::Occurrences(Occurrences {
            trigger_id: run.trigger_id,
            scheduled_for: run.scheduled_for,
            missed_until: None,
            count: 1,
        }),
    };
    let line = Line::not_run(automation, run.id, change);
    automations::log::write(tx, vec![line], now).await
}
