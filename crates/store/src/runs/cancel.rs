//! The cancellation of runs.
//!
//! **Invariant:** a waiting run ends at once, also if its trigger file waits on an instance. A run that a worker has
//! ends only when the worker reports its end or is lost, so that no agent's process outlives its run unnoticed.

use std::collections::BTreeSet;

use model::{
    AutomationId, RunId, SessionId, Timestamp,
    entity::Run,
    lifecycle::{InvalidTransition, Lifecycle},
    outcome::Outcome,
    run::{RunEvent, RunStatus},
    turn::{TurnResult, WriteOutcome},
};

use crate::{
    Error, Scope, approvals, boxed,
    changes::note_change,
    database::{Row, Tx},
    locks::{lock_all_of_runs, lock_run},
    rows,
    runs::end::end_run,
    session_log::SessionLogWriter,
    store::Store,
    trigger_files::take_trigger_files,
};

impl Store {
    /// Cancels a run. A waiting run ends at once. For a run that a worker has, records the request to cancel: the run
    /// ends when the agent has stopped. Returns the status of the run afterwards.
    ///
    /// # Errors
    ///
    /// Returns an error if the run does not exist in `scope` or is over.
    #[boxed]
    pub async fn cancel_run(
        &self,
        scope: Scope,
        run: RunId,
        reason: &str,
        now: Timestamp,
    ) -> Result<RunStatus, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // Check the scope before the lock, so that a request of another tenant locks nothing.
                read_status(tx, scope, run).await?;
                if lock_run(tx, run).await?.is_none() {
                    return Err(Error::Refused(InvalidTransition {
                        what: RunStatus::WHAT,
                        object: Some(run.to_string()),
                        state: read_status(tx, scope, run).await?.to_string(),
                        event: RunEvent::Cancel.to_string(),
                    }));
                }
                let mut log = SessionLogWriter::default();
                cancel_one(self, tx, &mut log, run, reason, now).await?;
                log.write(tx, now).await?;
                read_status(tx, scope, run).await
            })
        })
        .await
    }

    /// Cancels every run of a session that is not over. Returns the number of these runs.
    #[boxed]
    pub async fn cancel_session_runs(
        &self,
        scope: Scope,
        session: SessionId,
        reason: &str,
        now: Timestamp,
    ) -> Result<u32, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let row = tx
                    .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), session])
                    .await?;
                row.ok_or_else(|| Error::not_found("session", session))?;
                // A turn that a task starts because the turn before it was cancelled is none of them.
                let rows = tx
                    .fetch_all(sql!("runs/open_of_session"), params![session])
                    .await?;
                let among: BTreeSet<RunId> = run_ids(&rows)?.into_iter().collect();
                // Cancel the waiting runs first. Otherwise the end of the active run would promote one of them.
                let mut count = 0;
                for selection in [RunSelection::Deferred, RunSelection::Active] {
                    let is_selected =
                        |row: &Row| Ok(selection.contains(row)? && among.contains(&row.get("id")?));
                    count += cancel_selected(self, tx, session, is_selected, reason, now).await?;
                }
                Ok(count)
            })
        })
        .await
    }
}

/// A selection of the open runs of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunSelection {
    /// The runs that wait for their seat, their session or an instant.
    Deferred,
    /// The runs that hold their seat and that no worker has: queued ones, and those whose trigger files wait.
    Unclaimed,
    /// All runs that hold their seat.
    Active,
}

impl RunSelection {
    /// Returns `true` if a row of `runs/open_of_session` is selected.
    fn contains(self, row: &Row) -> Result<bool, Error> {
        Ok(match self {
            Self::Deferred => row.parse::<RunStatus>("status")? == RunStatus::Deferred,
            Self::Unclaimed => row.get("is_unclaimed")?,
            Self::Active => row.parse::<RunStatus>("status")?.is_active(),
        })
    }
}

/// Cancels the selected runs of a session. Returns the number of these runs.
pub(crate) async fn cancel_runs_of_session(
    store: &Store,
    tx: &mut Tx,
    session: SessionId,
    selection: RunSelection,
    reason: &str,
    now: Timestamp,
) -> Result<u32, Error> {
    let is_selected = |row: &Row| selection.contains(row);
    cancel_selected(store, tx, session, is_selected, reason, now).await
}

/// Cancels the runs of a session whose rows are selected. Returns the number of these runs.
async fn cancel_selected(
    store: &Store,
    tx: &mut Tx,
    session: SessionId,
    is_selected: impl Fn(&Row) -> Result<bool, Error>,
    reason: &str,
    now: Timestamp,
) -> Result<u32, Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    let (mut all, mut cancelled) = (Vec::new(), Vec::new());
    for row in &open {
        let run: RunId = row.get("id")?;
        all.push(run);
        if is_selected(row)? {
            cancelled.push(run);
        }
    }
    // Lock for all runs, because the caller may cancel the others next, when the session is locked.
    lock_all_of_runs(tx, &all).await?;
    let mut log = SessionLogWriter::default();
    cancel_each(store, tx, &mut log, &cancelled, reason, now).await?;
    log.write(tx, now).await?;
    Ok(u32::try_from(cancelled.len()).unwrap_or(u32::MAX))
}

/// Cancels all runs of an automation that are not over, except those of answers to its questions.
pub(super) async fn cancel_runs_of_automation(
    store: &Store,
    tx: &mut Tx,
    automation: AutomationId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let mut log = SessionLogWriter::default();
    let open = tx
        .fetch_all(sql!("runs/open_of_automation"), params![automation])
        .await?;
    let open = run_ids(&open)?;
    lock_all_of_runs(tx, &open).await?;
    cancel_each(store, tx, &mut log, &open, reason, now).await?;
    log.write(tx, now).await
}

/// Cancels the waiting runs of an automation.
pub(crate) async fn cancel_waiting_of_automation(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    automation: AutomationId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let waiting = tx
        .fetch_all(sql!("runs/waiting_of_automation"), params![automation])
        .await?;
    let waiting = run_ids(&waiting)?;
    lock_all_of_runs(tx, &waiting).await?;
    cancel_each(store, tx, log, &waiting, reason, now).await
}

fn run_ids(rows: &[Row]) -> Result<Vec<RunId>, Error> {
    let ids = rows.iter().map(|row| row.get("id"));
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Cancels runs, one after the other. The caller must hold the locks of all, because each cancellation would otherwise
/// lock its automation after the seat of the one before.
async fn cancel_each(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    runs: &[RunId],
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    for run in runs {
        cancel_one(store, tx, log, *run, reason, now).await?;
    }
    Ok(())
}

/// Reads the status of a run.
async fn read_status(tx: &mut Tx, scope: Scope, run: RunId) -> Result<RunStatus, Error> {
    let row = tx
        .fetch_optional(
            sql!("runs/by_id", rows::RUN_COLUMNS),
            params![scope.tenant(), run],
        )
        .await?;
    Ok(row
        .ok_or_else(|| Error::not_found("run", run))?
        .parse("status")?)
}

/// Cancels one run. Changes nothing if the run is over.
async fn cancel_one(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    run: RunId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(run) = lock_run(tx, run).await? else {
        return Ok(());
    };
    let is_waiting = matches!(run.status(), RunStatus::Queued | RunStatus::Deferred)
        || run.state.waits_as_file();
    // A claim locks no seat, so that a worker may have taken the run since it was read.
    if is_waiting && end_waiting(store, tx, &run, log, reason, now).await? {
        return Ok(());
    }
    tx.execute(sql!("runs/request_cancel"), params![run.id, now, reason])
        .await?;
    // Wake the readers of the session's log, because a runtime learns of the request by them.
    if let Some(session) = run.session_id {
        note_change(tx, session.uuid()).await?;
    }
    // Void the approvals of the turn, because the turn stops before a decision could reach it.
    approvals::void_approvals(tx, log, std::iter::once(run.id), now).await
}

/// Ends a run that no worker has. Returns `false` if a worker has taken it meanwhile.
async fn end_waiting(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    log: &mut SessionLogWriter,
    reason: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    let finished = TurnResult::with_outcome(Outcome::Cancelled(reason.into()));
    if end_run(store, tx, run, log, &finished, now).await? == WriteOutcome::Fenced {
        return Ok(false);
    }
    // A runtime that claims the run of a file later finds that it is over, and removes the file. The row of the file stays
    // with the run. It would be read at each search for the file that is due next.
    take_trigger_files(tx, std::iter::once(run.id), now).await?;
    Ok(true)
}
