//! Approvals: an agent's requests for permission, people's decisions, and the end of requests without a decision.
//!
//! **Invariant:** a pending approval belongs to a running attempt that is not being cancelled. The transition that
//! ends or cancels an attempt voids its pending approvals in the same transaction. A turn that stops waiting
//! withdraws its approvals before that. A decision compares the state and the deadline.

mod read;

use model::{
    ApprovalId, RunId, SessionId, TenantId, Timestamp, WorkerId,
    approval::{Approval, ApprovalEvent, ApprovalRequest, ApprovalStatus, Decider},
    entity::Run,
    event::{ApprovalChange, Change},
    lifecycle::{InvalidTransition, Lifecycle},
    permission::Verdict,
    run::RunState,
    turn::WriteOutcome,
};

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    locks::lock_run,
    owned_runs::locate_owned_runs,
    question_log, rows,
    session_log::{self, EntryLocation, SessionLogWriter},
    store::Store,
};

pub use read::ApprovalFilter;
pub(crate) use read::read_page;

/// Maximum number of approvals that one call of [`Store::expire_overdue_approvals`] reads.
const MAX_OVERDUE_APPROVALS: u32 = 200;

impl Store {
    /// Requests a person's permission for a run that `worker` executes. A repeated request with the same ID changes
    /// nothing. Returns [`WriteOutcome::Fenced`] if the run is no longer this worker's, or if it is being cancelled,
    /// because no decision would reach the agent.
    #[boxed]
    pub async fn request_approval(
        &self,
        run: RunId,
        worker: &WorkerId,
        id: ApprovalId,
        request: &ApprovalRequest,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the run, and check that this worker still executes it.
                let Some(location) = locate_owned_run(tx, run, worker).await? else {
                    return Ok(WriteOutcome::Fenced);
                };
                let permission = &request.permission;
                let long = request.long_input.as_ref();
                // 2. Insert the approval, unless it exists or the run is being cancelled.
                let inserted = tx
                    .fetch_optional(
                        sql!("approvals/insert"),
                        params! { "approvals/insert";
                            id: id,
                            run: run,
                            tool_kind: permission.tool_kind.as_str(),
                            title: permission.title.as_str(),
                            tool_call: permission.tool_call.as_str(),
                            input: permission.input.clone(),
                            input_cut: permission.input_cut,
                            long_input: long.map(|long| long.json.as_str()),
                            input_bytes: long.map(|long| i64::try_from(long.bytes).unwrap_or(i64::MAX)),
                            deadline: deadline,
                            now: now,
                        },
                    )
                    .await?;
                // The statement inserted no row: either this request is a repetition, or the run is being cancelled.
                if inserted.is_none() {
                    let existing = tx
                        .fetch_optional(sql!("approvals/by_id"), params![location.tenant, id])
                        .await?;
                    return Ok(existing.map_or(WriteOutcome::Fenced, |_| WriteOutcome::Committed));
                }
                // 3. Log the request, which notifies people.
                let change = Change::Approval {
                    approval_id: id,
                    run_id: run,
                    tool_kind: permission.tool_kind.clone(),
                    title: permission.title.clone(),
                    change: ApprovalChange::Pending {
                        deadline_at: deadline,
                    },
                };
                session_log::write_change(tx, location.session, change, now).await?;
                Ok(WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Decides a pending approval.
    ///
    /// # Errors
    ///
    /// Returns an error with the present state if the approval is decided, expired or void.
    #[boxed]
    pub async fn decide_approval(
        &self,
        tenant: TenantId,
        id: ApprovalId,
        verdict: Verdict,
        by: &Decider,
        comment: Option<&str>,
        now: Timestamp,
    ) -> Result<Approval, Error> {
        let event = ApprovalEvent::from(verdict);
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let scope = Scope::Tenant(tenant);
                let found = read_approval(tx, scope, id).await?;
                // 1. Lock the seat of the run, because the transition that ends the run holds that lock.
                let run = lock_run(tx, found.run_id).await?;
                // 2. Decide, fenced by the state and the deadline.
                let decided = tx
                    .fetch_optional(
                        sql!("approvals/decide"),
                        params! { "approvals/decide";
                            tenant: tenant,
                            id: id,
                            state: ApprovalStatus::Pending.apply(event)?.as_str(),
                            now: now,
                            decided_by: by.name.as_str(),
                            token: by.token,
                            comment: comment,
                        },
                    )
                    .await?;
                // Read again under the lock, for the answer in both cases.
                let present = read_approval(tx, scope, id).await?;
                let Some(row) = decided else {
                    return Err(Error::Refused(InvalidTransition {
                        what: ApprovalStatus::WHAT,
                        object: Some(id.to_string()),
                        state: effective_status(&present, run.as_ref(), now).to_string(),
                        event: event.to_string(),
                    }));
                };
                // 3. Log the decision.
                let mut log = SessionLogWriter::default();
                let decided_by = by.name.clone();
                let change = match verdict {
                    Verdict::Allow => ApprovalChange::Allowed { decided_by },
                    Verdict::Deny => ApprovalChange::Denied { decided_by },
                };
                let (session, change) = closing_event(id, &row, change)?;
                log.add_change(session, change);
                log.write(tx, now).await?;
                Ok(present)
            })
        })
        .await
    }

    /// Voids the pending approvals and elicitations of a run that `worker` executes, because its agent no longer waits for a decision.
    /// Returns [`WriteOutcome::Fenced`] if the run is no longer this worker's.
    #[boxed]
    pub async fn withdraw_approvals(
        &self,
        run: RunId,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if locate_owned_run(tx, run, worker).await?.is_none() {
                    return Ok(WriteOutcome::Fenced);
                }
                let mut log = SessionLogWriter::default();
                void_approvals(tx, &mut log, std::iter::once(run), now).await?;
                log.write(tx, now).await?;
                Ok(WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Expires an approval whose deadline has passed. Does nothing if the approval is no longer pending. The caller
    /// must have checked the deadline. Returns the state of the approval afterwards.
    #[boxed]
    pub async fn expire_approval(
        &self,
        id: ApprovalId,
        now: Timestamp,
    ) -> Result<ApprovalStatus, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let found = read_approval(tx, Scope::System, id).await?;
                if found.status() != ApprovalStatus::Pending {
                    return Ok(found.status());
                }
                expire_one(tx, id, found.run_id, now).await?;
                Ok(read_approval(tx, Scope::System, id).await?.status())
            })
        })
        .await
    }

    /// Expires pending approvals whose deadline has passed although their worker has not expired them. Returns the
    /// number of expired approvals.
    ///
    /// # Errors
    ///
    /// An approval that cannot be written does not block the others. The first such error is returned after all
    /// others have expired.
    #[boxed]
    pub async fn expire_overdue_approvals(&self, now: Timestamp) -> Result<u32, Error> {
        let overdue = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(
                sql!("approvals/overdue"),
                params![now, MAX_OVERDUE_APPROVALS],
            )
            .await?
        };
        let mut expired = 0;
        let mut first_error = None;
        for row in &overdue {
            let (id, run) = (row.get("id")?, row.get("run_id")?);
            let expiry = self
                .transact(Scope::System, |tx, _| {
                    Box::pin(expire_one(tx, id, run, now))
                })
                .await;
            match expiry {
                Ok(was_pending) => expired += u32::from(was_pending),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(expired), Err)
    }
}

/// Returns the session, the seat and the tenant of a run that `worker` executes. Returns `None` if it executes the
/// run no longer. Locks the automation before the run, in the order of all transitions, because the insert of a row
/// that refers to the automation locks that row too.
async fn locate_owned_run(
    tx: &mut Tx,
    run: RunId,
    worker: &WorkerId,
) -> Result<Option<EntryLocation>, Error> {
    lock_run(tx, run).await?;
    let locations = locate_owned_runs(tx, std::iter::once((run, worker))).await?;
    Ok(locations.into_values().next())
}

/// Reads an approval.
async fn read_approval(tx: &mut Tx, scope: Scope, id: ApprovalId) -> Result<Approval, Error> {
    let row = tx
        .fetch_optional(sql!("approvals/by_id"), params![scope.tenant(), id])
        .await?;
    rows::approval(&row.ok_or_else(|| Error::not_found("approval", id))?)
}

/// Returns the state of an approval that can no longer be decided. An approval may be stored as pending although its
/// deadline has passed or its run no longer waits.
fn effective_status(found: &Approval, run: Option<&Run>, now: Timestamp) -> ApprovalStatus {
    match found.status() {
        ApprovalStatus::Pending if found.deadline_at <= now => ApprovalStatus::Expired,
        ApprovalStatus::Pending
            if run.is_none_or(|run| {
                !matches!(
                    run.state,
                    RunState::Running {
                        cancel_requested_at: None,
                        ..
                    }
                )
            }) =>
        {
            ApprovalStatus::Void
        }
        state => state,
    }
}

/// Expires one approval. Returns `true` if it was pending.
async fn expire_one(
    tx: &mut Tx,
    id: ApprovalId,
    run: RunId,
    now: Timestamp,
) -> Result<bool, Error> {
    lock_run(tx, run).await?;
    let Some(row) = tx
        .fetch_optional(sql!("approvals/expire"), params![id, now])
        .await?
    else {
        return Ok(false);
    };
    let (session, change) = closing_event(id, &row, ApprovalChange::Expired)?;
    session_log::write_change(tx, session, change, now).await?;
    Ok(true)
}

/// Voids the pending approvals and elicitations of attempts that have ended or are being cancelled. The caller must hold
/// the locks of their seats.
pub(crate) async fn void_approvals(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    runs: impl Iterator<Item = RunId>,
    now: Timestamp,
) -> Result<(), Error> {
    let runs: Vec<RunId> = runs.collect();
    question_log::void_elicitations(tx, log, runs.iter().copied(), now).await?;
    let runs = runs.into_iter().map(|run| params![run]).collect();
    let voided = tx
        .fetch_rows(sql!("approvals/void"), runs, params![now])
        .await?;
    for row in &voided {
        let id: ApprovalId = row.get("id")?;
        let (session, change) = closing_event(id, row, ApprovalChange::Void)?;
        log.add_change(session, change);
    }
    Ok(())
}

/// Returns the session of an approval that is no longer pending, and the event for the session's log.
fn closing_event(
    approval_id: ApprovalId,
    row: &Row,
    change: ApprovalChange,
) -> Result<(SessionId, Change), Error> {
    let event = Change::Approval {
        approval_id,
        run_id: row.get("run_id")?,
        tool_kind: row.get("tool_kind")?,
        title: row.get("title")?,
        change,
    };
    Ok((row.get("session_id")?, event))
}
