//! The list of sessions: what people need to know of each, read by a few statements for a whole page.

use std::collections::HashMap;

use model::{SessionId, TenantId, Timestamp, entity::Session, turn::Role};

use super::page::{SessionFilter, SessionOrder, read_page};
use crate::{
    Error, RunOutcome, Scope, automations::read_outcome, boxed, database::Tx, store::Store,
};

/// A session of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionItem {
    /// The session.
    pub session: Session,
    /// The last message of its transcript. `None` if there is none.
    pub last_message: Option<LastMessage>,
    /// Its last run that has begun or ended. `None` if there is none.
    pub last_run: Option<RunOutcome>,
    /// The name of the instance that alone may take its turns, if that instance was removed.
    pub removed_instance: Option<String>,
}

/// The last message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastMessage {
    /// The author of the message.
    pub role: Role,
    /// The beginning of its text.
    pub content: String,
    /// The instant at which it was written.
    pub created_at: Timestamp,
}

impl Store {
    /// Lists one page of a tenant's sessions, each with at most `chars` characters of its last message. Reads all of
    /// them in one transaction, with as many statements for a page of 500 as for a page of one.
    #[boxed]
    pub async fn session_items(
        &self,
        tenant: TenantId,
        filter: &SessionFilter,
        order: SessionOrder,
        limit: u32,
        chars: u32,
    ) -> Result<Vec<SessionItem>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let sessions = read_page(&mut tx, tenant, filter, order, limit).await?;
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
        let mut messages = last_messages(&mut tx, &ids, chars).await?;
        let mut runs = last_runs(&mut tx, &ids).await?;
        let mut removed = removed_instances(&mut tx, &ids).await?;
        let items = sessions.into_iter().map(|session| SessionItem {
            last_message: messages.remove(&session.id),
            last_run: runs.remove(&session.id),
            removed_instance: removed.remove(&session.id),
            session,
        });
        Ok(items.collect())
    }
}

async fn last_messages(
    tx: &mut Tx,
    sessions: &[SessionId],
    chars: u32,
) -> Result<HashMap<SessionId, LastMessage>, Error> {
    let keys = sessions.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(
        sql_of_each!("messages/last_of_sessions"),
        keys,
        params![chars],
    );
    let read = found.await?.into_iter().map(|row| {
        let message = LastMessage {
            role: row.parse("role")?,
            content: row.get("content")?,
            created_at: row.get("created_at")?,
        };
        Ok((row.get("session_id")?, message))
    });
    read.collect()
}

async fn last_runs(
    tx: &mut Tx,
    sessions: &[SessionId],
) -> Result<HashMap<SessionId, RunOutcome>, Error> {
    let keys = sessions.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(sql_of_each!("runs/last_of_sessions"), keys, params![]);
    let read = found
        .await?
        .into_iter()
        .map(|row| Ok((row.get("session_id")?, read_outcome(&row)?)));
    read.collect()
}

async fn removed_instances(
    tx: &mut Tx,
    sessions: &[SessionId],
) -> Result<HashMap<SessionId, String>, Error> {
    let keys = sessions.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(sql!("sessions/removed_instances"), keys, params![]);
    let read = found
        .await?
        .into_iter()
        .map(|row| Ok((row.get("id")?, row.get("name")?)));
    read.collect()
}
