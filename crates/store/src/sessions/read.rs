//! Queries for the transcript and the log of a session.

use model::{RunId, SessionId, TaskId, entity::Message, event::Event};

use crate::{Error, Scope, boxed, rows, store::Store};

/// The last rows of a transcript, or of its part before a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierMessages {
    /// The rows, in order.
    pub messages: Vec<Message>,
    /// The number before which further rows are. `None` if no row precedes these.
    pub previous: Option<i64>,
}

impl Store {
    /// Reads up to `limit` rows of a transcript after a number, in order.
    #[boxed]
    pub async fn messages(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("messages/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::message).collect()
    }

    /// Reads the last `limit` rows of a transcript before a number. Without a number, the transcript is read from its
    /// end.
    #[boxed]
    pub async fn messages_before(
        &self,
        scope: Scope,
        session: SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<EarlierMessages, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let before = before.unwrap_or(i64::MAX);
        // One row more than requested is read, to know whether rows precede the page.
        let found = tx
            .fetch_all(
                sql!("messages/before"),
                params![scope.tenant(), session, before, limit.saturating_add(1)],
            )
            .await?;
        let mut messages = found
            .iter()
            .map(rows::message)
            .collect::<Result<Vec<_>, _>>()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let preceding = messages.get(limit).map(|row| row.seq);
        messages.truncate(limit);
        messages.reverse();
        Ok(EarlierMessages {
            previous: preceding.map(|seq| seq.saturating_add(1)),
            messages,
        })
    }

    /// Counts the rows of a transcript before a number.
    #[boxed]
    pub async fn count_messages_before(
        &self,
        scope: Scope,
        session: SessionId,
        before: i64,
    ) -> Result<i64, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_one(
                sql!("messages/count_before"),
                params![scope.tenant(), session, before],
            )
            .await?;
        Ok(row.get("count")?)
    }

    /// Returns a number of the session that precedes all rows of a run, present and future.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the run does not exist or has no session.
    #[boxed]
    pub async fn seq_before_run(&self, scope: Scope, run: RunId) -> Result<i64, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("messages/before_run"), params![scope.tenant(), run])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("run in a session", run))?;
        Ok(row.get("seq")?)
    }

    /// Returns a number of the session that precedes all rows of a task's runs, present and future.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the task does not exist.
    #[boxed]
    pub async fn seq_before_task(&self, scope: Scope, task: TaskId) -> Result<i64, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("messages/before_task"), params![scope.tenant(), task])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("task", task))?;
        Ok(row.get("seq")?)
    }

    /// Reads up to `limit` events of a session's log after a number, in order.
    #[boxed]
    pub async fn events(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("events/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::event).collect()
    }

    /// Returns the number of the oldest event of a session that retention has kept. If retention has kept no event,
    /// returns the number of the next event. A reader whose last number is more than one below it has missed events.
    #[boxed]
    pub async fn oldest_event_seq(&self, scope: Scope, session: SessionId) -> Result<i64, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("events/oldest"), params![scope.tenant(), session])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("session", session))?;
        Ok(row.get("seq")?)
    }
}
