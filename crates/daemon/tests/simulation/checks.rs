//! The checks of every state of the database, and queries for the simulation.

use std::collections::BTreeSet;

use model::{InstanceId, RunId, SessionId, Timestamp};
use store::database;
use testkit::invariants::VIOLATION_QUERIES;

use crate::{schedules::Row, sql, world::World};

impl World {
    /// Checks the state of the database.
    pub(crate) async fn check_state(&self) -> anyhow::Result<()> {
        for (what, finding) in VIOLATION_QUERIES {
            let found = sql::rows(&self.store, finding).await?;
            anyhow::ensure!(found.is_empty(), "there is {what}: {found:?}");
        }
        let found = sql::rows(
            &self.store,
            "select id, worker_id from agent_runs where status in ('delivered', 'running')",
        );
        let mut had = 0;
        for row in found.await? {
            let (run, worker): (RunId, _) = (row.get("id")?, row.get("worker_id")?);
            anyhow::ensure!(
                self.agents.is_owned_by(run, &worker),
                "I4: {run} belongs to {worker}, which does not know it"
            );
            had += 1;
        }
        anyhow::ensure!(
            had == self.agents.owned_count(),
            "I4: a worker has a run that the database gives to no worker"
        );
        Ok(())
    }

    /// Returns the number of runs that are not over.
    pub(crate) async fn open_run_count(&self) -> anyhow::Result<i64> {
        let found = sql::rows(
            &self.store,
            "select count(*) as open from agent_runs \
             where status in ('queued', 'deferred', 'delivered', 'running')",
        );
        let found = found.await?;
        Ok(found.first().map_or(Ok(0), |row| row.get("open"))?)
    }

    /// Returns a random run that is not over.
    pub(crate) async fn random_open_run(&mut self) -> anyhow::Result<Option<RunId>> {
        let found = sql::rows(
            &self.store,
            "select id from agent_runs \
             where status in ('queued', 'deferred', 'delivered', 'running') order by id",
        );
        let ids: Result<Vec<RunId>, _> = found.await?.iter().map(|row| row.get("id")).collect();
        Ok(self.rng.pick(&ids?))
    }

    /// Returns the runs that an instance must claim next: interactive runs first, then the oldest.
    pub(crate) async fn expected_claims(
        &self,
        instance: InstanceId,
        limit: u32,
    ) -> anyhow::Result<Vec<RunId>> {
        let found = sql::rows(
            &self.store,
            "select r.id, r.origin, r.input_at, d.instance_id from agent_runs r \
             join agent_definitions d on d.id = r.seat_id where r.status = 'queued'",
        );
        let mut line = Vec::new();
        for row in found.await? {
            let pinned: Option<InstanceId> = row.optional("instance_id")?;
            if pinned.is_some_and(|pinned| pinned != instance) {
                continue;
            }
            let origin: String = row.get("origin")?;
            let at: Timestamp = row.get("input_at")?;
            let id: RunId = row.get("id")?;
            line.push((origin != "person", at, id));
        }
        line.sort_unstable();
        line.truncate(usize::try_from(limit)?);
        Ok(line.into_iter().map(|(_, _, id)| id).collect())
    }

    /// Checks that no automation has more new inputs waiting than its limit (I10). An input that waits again after a
    /// claim, because its session is held or its attempt failed, is not new.
    pub(crate) async fn check_limits(&self) -> anyhow::Result<()> {
        let found = sql::rows(
            &self.store,
            "select r.automation_id, count(*) as waiting from agent_runs r \
             where r.status in ('queued', 'deferred') and r.attempt = 1 \
             and r.automation_id is not null and r.seat_id not in \
             (select seat_id from agent_runs where attempt > 1 and ended_at is null) \
             group by r.automation_id",
        );
        for row in found.await? {
            let (id, waiting) = (row.get("automation_id")?, row.get::<i64>("waiting")?);
            let limit =
                self.queue_limits.get(&id).copied().unwrap_or(0) + self.redeferred_count(id);
            anyhow::ensure!(
                waiting <= limit,
                "I10: {waiting} inputs of {id} wait, and {limit} may"
            );
        }
        Ok(())
    }

    fn redeferred_count(&self, id: model::AutomationId) -> i64 {
        self.redeferred.get(&id).copied().unwrap_or(0)
    }

    /// Deactivates the schedules of automations that have paused themselves.
    pub(crate) async fn note_pauses(&mut self) -> anyhow::Result<()> {
        let found = sql::rows(
            &self.store,
            "select id, paused_at from automations \
             where paused_at is not null and pause_reason in ('failures', 'budget')",
        );
        for row in found.await? {
            let at: Timestamp = row.get("paused_at")?;
            self.schedules
                .deactivate(row.get("id")?, at.as_microsecond());
        }
        Ok(())
    }

    /// Removes automations that were deleted together with a session.
    pub(crate) async fn note_deletions(&mut self, now: i64) -> anyhow::Result<()> {
        let found = sql::rows(
            &self.store,
            "select id from automations where deleted_at is not null",
        );
        for row in found.await? {
            let id = row.get("id")?;
            self.automations.retain(|other| *other != id);
            self.schedules.deactivate(id, now);
        }
        Ok(())
    }

    /// Returns the rows and inputs that a deleted session takes along: the rows of its occurrences, and the numbers of
    /// messages and fires.
    pub(crate) async fn deletions_with_session(
        &self,
        id: SessionId,
    ) -> anyhow::Result<DeletedInputs> {
        let found = sql::rows(
            &self.store,
            "select r.session_id, r.origin, t.kind, r.trigger_id, r.scheduled_for, \
             r.missed_until, r.occurrences, r.status, r.reason, r.created_at from agent_runs r \
             left join automation_triggers t on t.id = r.trigger_id \
             where r.attempt = 1 and r.session_id is not null",
        );
        let mut gone = DeletedInputs::default();
        for row in found.await? {
            if row.get::<SessionId>("session_id")? != id {
                continue;
            }
            let kind: Option<String> = row.optional("kind")?;
            match kind.as_deref() {
                None => gone.messages += 1,
                Some("manual") => gone.fires += 1,
                Some(_) => gone.rows.push(occurrence_row(&row)?),
            }
        }
        Ok(gone)
    }

    /// Applies the deletion of a session to the expectations.
    pub(crate) async fn apply_deletions(&mut self, gone: DeletedInputs) -> anyhow::Result<()> {
        self.expected_inputs.messages -= gone.messages;
        self.expected_inputs.fires -= gone.fires;
        self.schedules.record_deleted_rows(gone.rows);
        let left = sql::rows(&self.store, "select id from agent_runs").await?;
        let left: Result<BTreeSet<RunId>, _> = left.iter().map(|row| row.get("id")).collect();
        self.agents.retain(&left?);
        Ok(())
    }
}

/// The inputs that are deleted together with a session.
#[derive(Default)]
pub(crate) struct DeletedInputs {
    messages: i64,
    fires: i64,
    rows: Vec<Row>,
}

/// Parses the row of an occurrence.
pub(crate) fn occurrence_row(row: &database::Row) -> Result<Row, database::Error> {
    let first = row.get::<Timestamp>("scheduled_for")?.as_microsecond();
    let last: Option<Timestamp> = row.optional("missed_until")?;
    Ok(Row {
        trigger: row.get("trigger_id")?,
        first,
        last: last.map_or(first, Timestamp::as_microsecond),
        count: row.get("occurrences")?,
        status: row.get("status")?,
        reason: row.optional("reason")?,
        created_at: row.get::<Timestamp>("created_at")?.as_microsecond(),
    })
}
