//! Summaries of the pending work, each of which takes one statement.

use model::{AutomationId, Timestamp};

use crate::{Error, Scope, Store, stored::FORMAT};

/// The pending work of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// The instant at which the next trigger is due. It may be in the past.
    pub due: Option<Timestamp>,
    /// The instant at which the next backoff ends.
    pub backoff: Option<Timestamp>,
    /// `true` if a waiting run could start, because its backoff has ended or a promotion has missed it.
    pub waiting: bool,
    /// `true` if a run waits for an instance that was removed.
    pub gone: bool,
}

/// The numbers of unfinished runs, by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepth {
    /// The number of runs that a worker may claim.
    pub queued: u64,
    /// The number of runs that wait for a seat, a session, a budget or the end of a backoff.
    pub deferred: u64,
    /// The number of runs that a worker has claimed but not begun.
    pub delivered: u64,
    /// The number of runs with a running turn.
    pub running: u64,
    /// The instant at which the input of the oldest queued run arrived.
    pub oldest_queued: Option<Timestamp>,
}

impl Outlook {
    /// Returns the instant of the next work.
    pub fn next(&self) -> Option<Timestamp> {
        [self.due, self.backoff].into_iter().flatten().min()
    }
}

impl Store {
    /// Reads the pending work of the scheduler. It is a single statement, because an idle server runs nothing else.
    pub async fn outlook(&self, now: Timestamp) -> Result<Outlook, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let row = tx
            .fetch_one(sql!("outlook/work"), params![now, FORMAT])
            .await?;
        Ok(Outlook {
            due: row.optional("due")?,
            backoff: row.optional("backoff")?,
            waiting: row.get("waiting")?,
            gone: row.get("gone")?,
        })
    }

    /// Returns the number of automations, and the one that is due next.
    pub async fn automation_summary(
        &self,
        scope: Scope,
    ) -> Result<(u64, Option<AutomationId>), Error> {
        let mut tx = self.db.read(scope).await?;
        let statement = sql!("outlook/automations");
        let row = tx.fetch_one(statement, params![scope.tenant()]).await?;
        let count: i64 = row.get("automations")?;
        Ok((u64::try_from(count).unwrap_or(0), row.optional("next")?))
    }

    /// Counts the unfinished runs.
    pub async fn queue_depth(&self, scope: Scope) -> Result<QueueDepth, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_one(sql!("outlook/queue"), params![scope.tenant()])
            .await?;
        let count = |column| {
            let count: i64 = row.get(column)?;
            Ok::<_, Error>(u64::try_from(count).unwrap_or(0))
        };
        Ok(QueueDepth {
            queued: count("queued")?,
            deferred: count("deferred")?,
            delivered: count("delivered")?,
            running: count("running")?,
            oldest_queued: row.optional("oldest_queued")?,
        })
    }
}
