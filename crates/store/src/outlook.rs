//! What is to come, in one look each.

use model::{AutomationId, Timestamp};

use crate::{Error, Scope, Store, stored::FORMAT};

/// What the scheduler has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// When the next trigger is due, which may be past.
    pub due: Option<Timestamp>,
    /// When the next backoff is over.
    pub backoff: Option<Timestamp>,
    /// Whether something waits that could start: a backoff is over, or a promotion left it behind.
    pub waiting: bool,
    /// Whether something waits for an instance that is gone.
    pub gone: bool,
}

/// How many runs are not over, and where they are.
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
    /// When the input came of the queued one that waits longest.
    pub oldest_queued: Option<Timestamp>,
}

impl Outlook {
    /// When there is something to do next.
    pub fn next(&self) -> Option<Timestamp> {
        [self.due, self.backoff].into_iter().flatten().min()
    }
}

impl Store {
    /// Looks at what the scheduler has to do. One statement: this is all that an idle server asks.
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

    /// How many automations there are, and which is due next.
    pub async fn automations_outlook(
        &self,
        scope: Scope,
    ) -> Result<(u64, Option<AutomationId>), Error> {
        let mut tx = self.db.read(scope).await?;
        let statement = sql!("outlook/automations");
        let row = tx.fetch_one(statement, params![scope.tenant()]).await?;
        let count: i64 = row.get("automations")?;
        Ok((u64::try_from(count).unwrap_or(0), row.optional("next")?))
    }

    /// Counts the runs that are not over.
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
