//! Reading a session's transcript and its log.

use model::{RunId, SessionId, entity::Message, event::Event};

use crate::{Error, Scope, rows, store::Store};

/// The end of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Its last rows, in order.
    pub messages: Vec<Message>,
    /// How many rows come before them.
    pub before: i64,
}

impl Store {
    /// Reads a transcript after a number, in order.
    pub async fn messages(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("messages/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::message).collect()
    }

    /// Reads the last rows of a transcript.
    pub async fn last_messages(
        &self,
        scope: Scope,
        session: SessionId,
        limit: u32,
    ) -> Result<Transcript, Error> {
        let mut tx = self.db.read(scope).await?;
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
        Ok(Transcript { messages, before })
    }

    /// The number in its session after which everything comes that the transcript has of a run, or will
    /// have.
    pub async fn before_run(&self, scope: Scope, run: RunId) -> Result<i64, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("messages/before_run"), params![scope.tenant(), run])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("run in a session", run))?;
        Ok(row.get("seq")?)
    }

    /// Reads a session's log after a number, in order.
    pub async fn events(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("events/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::event).collect()
    }

    /// The number of the oldest event of a session that retention has kept; where it kept none, that of
    /// the next one. Who has read up to a number before the one that precedes it has missed something.
    pub async fn oldest_event(&self, scope: Scope, session: SessionId) -> Result<i64, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("events/oldest"), params![scope.tenant(), session])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("session", session))?;
        Ok(row.get("seq")?)
    }
}
