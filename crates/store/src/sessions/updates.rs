//! The queries of live streams: new events and live texts of many sessions at once.

use std::collections::HashMap;

use model::{RunId, SessionId, entity::Message, event::Event};

use crate::{Error, Scope, boxed, rows, store::Store};

/// The new events of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUpdates {
    /// The session.
    pub session: SessionId,
    /// The number of the newest event in the session's log.
    pub last_seq: i64,
    /// The events after the requested number, in order. A gap before the first event means that retention has removed
    /// the events in between.
    pub events: Vec<LogEntry>,
}

/// An event, with the row of the transcript that it announces, in the present version of that row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The event.
    pub event: Event,
    /// The row. `None` if the event announces no row.
    pub message: Option<Message>,
}

/// A piece of the live text of a running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText {
    /// The run.
    pub run: RunId,
    /// The position of the first byte of the piece.
    pub position: i64,
    /// The piece.
    pub text: String,
}

impl LiveText {
    /// Returns the position after the last byte of the piece.
    pub fn end(&self) -> i64 {
        self.position
            .saturating_add(i64::try_from(self.text.len()).unwrap_or(i64::MAX))
    }
}

impl Store {
    /// Reads the logs of many sessions, each after a number and at most `limit` events of each session. Omits
    /// sessions that do not exist or belong to another tenant.
    #[boxed]
    pub async fn session_updates(
        &self,
        scope: Scope,
        sessions: &[(SessionId, i64)],
        limit: u32,
    ) -> Result<Vec<SessionUpdates>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let items = sessions
            .iter()
            .map(|(session, after)| params![*session, *after]);
        let found = tx
            .fetch_rows(
                sql!("events/of_many"),
                items.collect(),
                params![scope.tenant(), limit],
            )
            .await?;
        let mut updates: Vec<SessionUpdates> = Vec::with_capacity(sessions.len());
        for row in &found {
            let session = row.get("session_id")?;
            if updates.last().is_none_or(|last| last.session != session) {
                updates.push(SessionUpdates {
                    session,
                    last_seq: row.get("last_seq")?,
                    events: Vec::new(),
                });
            }
            let seq: Option<i64> = row.optional("seq")?;
            if let (Some(_), Some(last)) = (seq, updates.last_mut()) {
                last.events.push(LogEntry {
                    event: rows::event(row)?,
                    message: rows::announced_message(row)?,
                });
            }
        }
        Ok(updates)
    }

    /// Lists the running turns of sessions.
    #[boxed]
    pub async fn running_turns(
        &self,
        scope: Scope,
        sessions: &[SessionId],
    ) -> Result<HashMap<SessionId, Vec<RunId>>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let items = sessions.iter().map(|session| params![*session]).collect();
        let found = tx
            .fetch_rows(sql!("runs/running_turns"), items, params![scope.tenant()])
            .await?;
        let mut running: HashMap<SessionId, Vec<RunId>> = HashMap::new();
        for row in &found {
            let session = row.get("session_id")?;
            running.entry(session).or_default().push(row.get("id")?);
        }
        Ok(running)
    }

    /// Reads the live texts of running turns, each from a position in bytes on, in order and about `limit` pieces.
    /// Cuts a piece that begins before its position. Returns no pieces if there is no further text.
    #[boxed]
    pub async fn live_texts(
        &self,
        scope: Scope,
        runs: &[(RunId, i64)],
        limit: u32,
    ) -> Result<Vec<LiveText>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let items = runs.iter().map(|(run, from)| params![*run, *from]);
        let found = tx
            .fetch_rows(
                sql!("live/of_runs"),
                items.collect(),
                params![scope.tenant(), limit],
            )
            .await?;
        let mut ends: HashMap<RunId, i64> = runs.iter().copied().collect();
        let mut texts = Vec::with_capacity(found.len());
        for row in &found {
            let run = row.get("run_id")?;
            let end = ends.entry(run).or_default();
            let (position, text): (i64, String) = (row.get("position")?, row.get("text")?);
            let seen = usize::try_from(end.saturating_sub(position)).unwrap_or(0);
            // Cut at a character boundary: a slice within a character would panic.
            let seen = (seen..=text.len()).find(|at| text.is_char_boundary(*at));
            let seen = seen.unwrap_or(text.len());
            let text = LiveText {
                run,
                position: position + i64::try_from(seen).unwrap_or(0),
                text: text[seen..].to_owned(),
            };
            *end = text.end();
            if !text.text.is_empty() {
                texts.push(text);
            }
        }
        Ok(texts)
    }
}
