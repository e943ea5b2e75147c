//! The checks of tasks, as the servers that run them see them.
//!
//! **Invariants:** one worker has the checks of a task at a time. It holds a lease; after its end another server claims them.
//! The number of the attempt is the fence: a worker that has lost the checks changes nothing. A repetition after a crash is
//! allowed, because checks only read results.

use std::time::Duration;

use model::{
    InstanceId, SeatId, SessionId, TaskId, Timestamp, WorkerId,
    goal::{ChecksEnd, ChecksJob, Event, NamedCheck, TaskNo},
    team::CHECK_TIMEOUT_SECONDS,
    turn::{HeartbeatReply, WriteOutcome},
};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::{
    check_rows::{TaskChecks, read_checks},
    checks::broken,
    step::{lock_goal, move_goal},
};
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    goals::Goal,
    rows,
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, DOCUMENT_FORMAT, goals::StoredTeam},
};

/// The maximum number of tasks whose checks one call of [`Store::break_checks_of_removed_instances`] ends.
const MAX_LOST_CHECKS: u32 = 200;
/// The reason with which a heartbeat cancels checks.
const NOT_NEEDED: &str = "the task no longer needs its checks";

impl Store {
    /// Lists tasks whose checks the server of an instance may claim, the oldest first.
    #[boxed]
    pub async fn due_checks(
        &self,
        instance: InstanceId,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let due = tx
            .fetch_all(
                sql!("task_checks/due"),
                params![instance, now, DOCUMENT_FORMAT, limit],
            )
            .await?;
        due.iter().map(|row| Ok(row.get("task_id")?)).collect()
    }

    /// Claims the checks of a task with a lease until `until`. Returns `None` if another worker has them.
    #[boxed]
    pub async fn claim_checks(
        &self,
        task: TaskId,
        instance: InstanceId,
        worker: &WorkerId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<ChecksJob>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // Fence: of two servers that claim at the same time, the second one finds another lease.
                let params = params![task, instance, worker.as_str(), until, now];
                let claimed = tx.fetch_optional(sql!("task_checks/claim"), params).await?;
                match claimed {
                    Some(row) => self.read_job(tx, task, &row).await.map(Some),
                    None => Ok(None),
                }
            })
        })
        .await
    }

    async fn read_job(&self, tx: &mut Tx, task: TaskId, claimed: &Row) -> Result<ChecksJob, Error> {
        let session: SessionId = claimed.get("session_id")?;
        let seat: SeatId = claimed.get("seat_id")?;
        // 1. The checks of the task and their commands.
        let row = tx.fetch_one(sql!("task_checks/job"), params![task]).await?;
        let needed = stored::needs_format(&row)?;
        stored::require_supported("goal", &session.to_string(), needed)?;
        let team = stored::read::<StoredTeam>(&row, "team")?;
        let definitions = team.definition.checks;
        let names: Vec<String> = row.json("checks")?;
        let checks = names.into_iter().map(|name| {
            let definition = definitions.get(&name);
            let timeout = definition.map_or(CHECK_TIMEOUT_SECONDS, |it| it.timeout_seconds);
            NamedCheck {
                command: definition.map(|it| it.command.clone()),
                timeout: Duration::from_secs(timeout.into()),
                name,
            }
        });
        // 2. The directory of the seat.
        let none = None::<model::TenantId>;
        let session_row = tx
            .fetch_one(sql!("sessions/by_id"), params![none, session])
            .await?;
        let session_of_seat = rows::session(&session_row)?;
        let seats = tx
            .fetch_rows(sql!("seats/by_ids"), vec![params![seat]], params![])
            .await?;
        let seat_row = seats
            .first()
            .ok_or_else(|| Error::not_found("seat", seat))?;
        let seat = rows::seat(seat_row)?;
        let cancelled: Option<Timestamp> = claimed.optional("cancel_requested_at")?;
        Ok(ChecksJob {
            task,
            key: row.get("key")?,
            session,
            tenant: row.get("tenant_id")?,
            attempt: claimed.get("attempt")?,
            directory: seat.working_directory(&session_of_seat, || {
                self.seat_directory(&session_of_seat, &seat)
            }),
            checks: checks.collect(),
            is_cancelled: cancelled.is_some(),
        })
    }

    /// Renews the lease of a worker.
    #[boxed]
    pub async fn renew_checks(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<HeartbeatReply, Error> {
        self.transact(Scope::Tenant(job.tenant), |tx, _| {
            Box::pin(async move {
                let params = params![job.task, job.attempt, worker.as_str(), until, now];
                let renewed = tx.fetch_optional(sql!("task_checks/renew"), params).await?;
                reply(renewed.as_ref())
            })
        })
        .await
    }

    /// Waits until a worker must stop its checks, at most until `until`. Renews no lease.
    #[boxed]
    pub async fn wait_for_checks_order(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
        until: Instant,
    ) -> Result<HeartbeatReply, Error> {
        // Subscribe before the first read. Otherwise a cancellation between the two would go unnoticed until the next poll.
        let mut changes = self.changes();
        loop {
            let order = self.checks_order(job, worker).await?;
            let change = changes.next_of_session(job.session);
            if order != HeartbeatReply::Continue || timeout_at(until, change).await.is_err() {
                return Ok(order);
            }
        }
    }

    async fn checks_order(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
    ) -> Result<HeartbeatReply, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(job.tenant)).await?;
        let params = params![job.task, job.attempt, worker.as_str()];
        let owned = tx.fetch_optional(sql!("task_checks/owned"), params).await?;
        reply(owned.as_ref())
    }

    /// Gives checks back, because their server stops. The next claim runs all of them again.
    #[boxed]
    pub async fn requeue_checks(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::Tenant(job.tenant), |tx, _| {
            Box::pin(async move {
                let params = params![job.task, job.attempt, worker.as_str(), now];
                let requeued = tx.execute(sql!("task_checks/requeue"), params).await?;
                Ok(outcome(requeued))
            })
        })
        .await
    }

    /// Ends the checks of a task, and moves its goal. `evidence` has the last lines of each check that ran.
    ///
    /// # Errors
    ///
    /// Returns an error of the database, and [`Error::NewerFormat`] for a goal of a later version.
    #[boxed]
    pub async fn finish_checks(
        &self,
        job: &ChecksJob,
        worker: &WorkerId,
        end: &ChecksEnd,
        evidence: &[String],
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::Tenant(job.tenant), |tx, _| {
            Box::pin(async move {
                // 1. Lock the goal before the row, in the order of a move that stops checks.
                let Some(mut goal) = lock_goal(tx, job.session).await? else {
                    return Ok(WriteOutcome::Fenced);
                };
                let params = params![
                    job.task,
                    job.attempt,
                    worker.as_str(),
                    status(end),
                    json!(evidence),
                    now
                ];
                let ended = tx.execute(sql!("task_checks/end"), params).await?;
                if ended == 0 {
                    return Ok(WriteOutcome::Fenced);
                }
                // 2. Move the goal.
                let Some(no) = goal.task_no(job.task) else {
                    return Ok(WriteOutcome::Committed);
                };
                let event = event(&goal, no, end);
                let mut log = SessionLogWriter::default();
                move_goal(self, tx, &mut log, &mut goal, vec![event], now).await?;
                log.write(tx, now).await?;
                Ok(WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Ends checks that wait for an instance which was removed. They count as broken, so that a person decides. Returns the
    /// number of tasks.
    ///
    /// # Errors
    ///
    /// Tasks whose goal cannot be moved do not block the others. The first such error is returned after all others.
    #[boxed]
    pub async fn break_checks_of_removed_instances(&self, now: Timestamp) -> Result<u32, Error> {
        let lost = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            let params = params![None::<TaskId>, DOCUMENT_FORMAT, MAX_LOST_CHECKS];
            tx.fetch_all(sql!("task_checks/of_removed_instances"), params)
                .await?
        };
        let mut broken = 0;
        let mut first_error = None;
        for row in &lost {
            let (session, task) = (row.get("session_id")?, row.get("task_id")?);
            match self.break_lost_checks(session, task, now).await {
                Ok(has_ended) => broken += u32::from(has_ended),
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(broken), Err)
    }

    async fn break_lost_checks(
        &self,
        session: SessionId,
        task: TaskId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let Some(mut goal) = lock_goal(tx, session).await? else {
                    return Ok(false);
                };
                // The checks may have ended, or the instance may be back, since the search.
                let row = tx
                    .fetch_optional(
                        sql!("task_checks/of_removed_instances"),
                        params![Some(task), DOCUMENT_FORMAT, 1_u32],
                    )
                    .await?;
                let (Some(row), Some(no)) = (row, goal.task_no(task)) else {
                    return Ok(false);
                };
                let name: String = row.get("name")?;
                let evidence = json!([format!("the instance `{name}` was removed")]);
                tx.execute(sql!("task_checks/break"), params![task, evidence, now])
                    .await?;
                let events = vec![broken(&goal, no)];
                let mut log = SessionLogWriter::default();
                move_goal(self, tx, &mut log, &mut goal, events, now).await?;
                log.write(tx, now).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Returns the last checks of a task. Returns `None` if it had none, or belongs to another tenant.
    #[boxed]
    pub async fn task_checks(
        &self,
        scope: Scope,
        task: TaskId,
    ) -> Result<Option<TaskChecks>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_checks(&mut tx, scope, task).await
    }
}

fn reply(owned: Option<&Row>) -> Result<HeartbeatReply, Error> {
    let Some(row) = owned else {
        return Ok(HeartbeatReply::Fenced);
    };
    let cancelled: Option<Timestamp> = row.optional("cancel_requested_at")?;
    Ok(match cancelled {
        Some(_) => HeartbeatReply::Cancel(NOT_NEEDED.to_owned()),
        None => HeartbeatReply::Continue,
    })
}

const fn outcome(rows: u64) -> WriteOutcome {
    if rows == 0 {
        WriteOutcome::Fenced
    } else {
        WriteOutcome::Committed
    }
}

const fn status(end: &ChecksEnd) -> &'static str {
    match end {
        ChecksEnd::Passed => "passed",
        ChecksEnd::Failed { .. } => "failed",
        ChecksEnd::Broken { .. } => "broken",
        ChecksEnd::Cancelled => "cancelled",
    }
}

fn event(goal: &Goal, task: TaskNo, end: &ChecksEnd) -> Event {
    match end.clone() {
        ChecksEnd::Passed => Event::ChecksPassed(task),
        ChecksEnd::Failed { check, last_lines } => Event::CheckFailed {
            task,
            check,
            last_lines,
        },
        ChecksEnd::Broken { check } => Event::CheckBroken { task, check },
        ChecksEnd::Cancelled => broken(goal, task),
    }
}
