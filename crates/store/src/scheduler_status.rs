//! Summaries of the pending work, each of which takes one statement.

use model::{AutomationId, Timestamp, limits, schedule::zone_rules_edition};

use crate::{
    Error, Scope, Store, boxed, database::Tx, generic_plan::keep_generic_plans,
    stored::DOCUMENT_FORMAT,
};

/// The pending work of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent answer of one statement"
)]
pub struct SchedulerStatus {
    /// The instant at which the next trigger is due. It may be in the past.
    pub due: Option<Timestamp>,
    /// The instant at which the next backoff ends.
    pub backoff: Option<Timestamp>,
    /// The deadline of the next question without an answer. It may be in the past.
    pub question_deadline: Option<Timestamp>,
    /// The next deadline of a goal, or the end of its time. It may be in the past.
    pub goal_deadline: Option<Timestamp>,
    /// `true` if nothing would ever move an active goal, which is a fault of this program.
    pub has_idle_goal: bool,
    /// `true` if the presence of a seat of a goal may have changed.
    pub has_seat_change: bool,
    /// `true` if checks of a task wait for an instance that was removed.
    pub has_lost_checks: bool,
    /// `true` if a waiting run could start, because its backoff has ended or a promotion has missed it.
    pub has_promotable: bool,
    /// `true` if a run waits for an instance that was removed.
    pub has_removed_instance: bool,
    /// The instant of the oldest refusal of a run whose directory is not on a server.
    pub directory_refusal: Option<Timestamp>,
    /// `true` if an older edition of the zone rules computed the next instant of a trigger that is not due yet.
    pub has_outdated_triggers: bool,
}

/// The numbers of unfinished runs, by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepth {
    /// The number of runs that a worker may claim.
    pub queued: u64,
    /// The number of queued runs that wait for a server which has their directory.
    pub without_directory: u64,
    /// The number of runs that wait for a seat, a session, a budget or the end of a backoff.
    pub deferred: u64,
    /// The number of runs that a worker has claimed but not begun, and of those whose trigger files wait.
    pub delivered: u64,
    /// The number of those whose trigger files wait in the folders of instances.
    pub as_files: u64,
    /// The number of runs with a running turn.
    pub running: u64,
    /// The instant at which the input of the oldest queued run arrived.
    pub oldest_queued: Option<Timestamp>,
}

impl SchedulerStatus {
    /// Returns the instant of the next work.
    pub fn next_work_at(&self) -> Option<Timestamp> {
        [
            self.due,
            self.backoff,
            self.question_deadline,
            self.goal_deadline,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Store {
    /// Reads the pending work of the scheduler. It is a single statement, and on PostgreSQL one for its plan, because an idle
    /// server runs nothing else.
    #[boxed]
    pub async fn scheduler_status(&self, now: Timestamp) -> Result<SchedulerStatus, Error> {
        let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
        let mut tx = self.db.begin_read(Scope::System).await?;
        // The first plans of each connection would take longer than the work between two turns.
        keep_generic_plans(&mut tx).await?;
        let row = tx
            .fetch_one(
                sql!("scheduler_status/pending_work"),
                params![now, DOCUMENT_FORMAT, zone_rules_edition(), online_since],
            )
            .await?;
        Ok(SchedulerStatus {
            due: row.optional("due")?,
            backoff: row.optional("backoff")?,
            question_deadline: row.optional("question_deadline")?,
            goal_deadline: row.optional("goal_deadline")?,
            has_idle_goal: row.get("has_idle_goal")?,
            has_seat_change: row.get("has_seat_change")?,
            has_lost_checks: row.get("has_lost_checks")?,
            has_promotable: row.get("has_promotable")?,
            has_removed_instance: row.get("has_removed_instance")?,
            directory_refusal: row.optional("directory_refusal")?,
            has_outdated_triggers: row.get("has_outdated_triggers")?,
        })
    }

    /// Returns the number of automations, and the one that is due next.
    #[boxed]
    pub async fn automation_summary(
        &self,
        scope: Scope,
    ) -> Result<(u64, Option<AutomationId>), Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let statement = sql!("scheduler_status/automations");
        let row = tx.fetch_one(statement, params![scope.tenant()]).await?;
        let count: i64 = row.get("automations")?;
        Ok((u64::try_from(count).unwrap_or(0), row.optional("next_due")?))
    }

    /// Counts the unfinished runs.
    #[boxed]
    pub async fn queue_depth(&self, scope: Scope) -> Result<QueueDepth, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_queue_depth(&mut tx, scope).await
    }
}

/// Counts the unfinished runs.
pub(crate) async fn read_queue_depth(tx: &mut Tx, scope: Scope) -> Result<QueueDepth, Error> {
    let row = tx
        .fetch_one(
            sql!("scheduler_status/queue_depth"),
            params![scope.tenant()],
        )
        .await?;
    let count = |column| {
        let count: i64 = row.get(column)?;
        Ok::<_, Error>(u64::try_from(count).unwrap_or(0))
    };
    Ok(QueueDepth {
        queued: count("queued")?,
        without_directory: count("without_directory")?,
        deferred: count("deferred")?,
        delivered: count("delivered")?,
        as_files: count("as_files")?,
        running: count("running")?,
        oldest_queued: row.optional("oldest_queued")?,
    })
}
