//! Queries for the transcript and the log of a session.

use model::{RunId, SessionId, entity::Message, event::Event};

use crate::{Error, Scope, boxed, rows, store::Store};

/// The last rows of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The rows, in order.
    pub messages: Vec<Message>,
    /// The number of rows before them.
    pub preceding_count: i64,
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

    /// Reads the last `limit` rows of a transcript.
    #[boxed]
    pub async fn last_messages(
        &self,
        scope: Scope,
        session: SessionId,
        limit: u32,
    ) -> Result<Transcript, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("messages/last"),
                params![scope.tenant(), session, limit],
            )
            .await?;
        let mut messages = found
            .iter()
            .map(rows::message)
            .collect::<Result<Vec<_>, _>>()?;
        messages.reverse();
        let before = match messages.first() {
            None => 0,
            Some(first) => tx
                .fetch_one(
                    sql!("messages/count_before"),
                    params![scope.tenant(), session, first.seq],
                )
                .await?
                .get("count")?,
        };
        Ok(Transcript {
            messages,
            preceding_count: before,
        })
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
