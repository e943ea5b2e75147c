//! Writing a session's transcript and its ordered log.
//!
//! **Invariant:** a number is taken from the session's row, which stays locked until the transaction
//! ends; so numbers follow commits, and none is missing.

use model::{
    MessageId, RunId, SeatId, SessionId, TenantId, Timestamp,
    turn::{Entry, EntryKind, Role},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Error, database::Tx, store::Store};

/// Where a row of the transcript belongs.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) run: Option<RunId>,
    pub(crate) seat: Option<SeatId>,
}

/// Adds an event to a session's log and gives its number.
pub(crate) async fn event(
    tx: &mut Tx,
    session: SessionId,
    kind: &'static str,
    about: Uuid,
    body: &Value,
    now: Timestamp,
) -> Result<i64, Error> {
    let row = tx
        .fetch_one(sql!("sessions/next_seq"), params![session, now])
        .await?;
    let seq: i64 = row.get("last_seq")?;
    let tenant: TenantId = row.get("tenant_id")?;
    tx.execute(
        sql!("events/insert"),
        params![session, seq, tenant, kind, about, body, now],
    )
    .await?;
    Ok(seq)
}

/// Adds to the log that a run moved.
pub(crate) async fn run_event(
    tx: &mut Tx,
    session: SessionId,
    run: RunId,
    body: Value,
    now: Timestamp,
) -> Result<(), Error> {
    event(tx, session, "run", run.uuid(), &body, now)
        .await
        .map(|_| ())
}

/// Writes a row of the transcript, with its event.
pub(crate) async fn message(
    tx: &mut Tx,
    place: Place,
    entry: &Entry,
    now: Timestamp,
) -> Result<(), Error> {
    let body = json!({ "role": entry.role, "kind": entry.kind });
    let seq = event(tx, place.session, "message", entry.id.uuid(), &body, now).await?;
    // The agent's rows carry its seat; those of people and of Matins none.
    let from = match entry.role {
        Role::Assistant | Role::Tool => place.seat,
        Role::User | Role::System => None,
    };
    let written = tx
        .execute(
            sql!("messages/put"),
            params![
                entry.id,
                place.tenant,
                place.session,
                seq,
                place.run,
                from,
                entry.role.as_str(),
                entry.kind.as_str(),
                entry.content.as_str(),
                &entry.metadata,
                now
            ],
        )
        .await?;
    if written == 0 {
        return Err(Error::Exists {
            what: "a message",
            name: entry.id.to_string(),
        });
    }
    Ok(())
}

impl Store {
    /// A new row of a transcript.
    pub(crate) fn entry(
        &self,
        role: Role,
        kind: EntryKind,
        content: impl Into<String>,
        metadata: Value,
        now: Timestamp,
    ) -> Entry {
        let id = MessageId::generate(now, self.ids());
        Entry {
            id,
            role,
            kind,
            content: content.into(),
            metadata,
        }
    }
}
