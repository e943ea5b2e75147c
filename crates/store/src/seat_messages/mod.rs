//! Messages between the seats of a session.
//!
//! **Invariants:** each message is first stored as one row for each receiving seat. A row is numbered like all rows of
//! a transcript: under the session's lock, in the transaction that writes it. Subscribers read rows by number; their
//! notifications carry none. A message is delivered again to each new subscription until its seat has acknowledged
//! it.

mod stream;

use std::collections::BTreeSet;

use model::{
    MessageId, SeatId, SessionId, TenantId, Timestamp,
    lifecycle::{InvalidTransition, Lifecycle as _},
    session::{Admission, SessionStatus},
    turn::{EntryKind, Role},
};
use serde_json::{Value, json};

use crate::{
    Error, Scope, boxed,
    database::Row,
    locks::{lock_seats, lock_session},
    rows,
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

pub use stream::SeatMessageStream;

/// The recipients of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipients {
    /// One seat of the session, perhaps the sender's own.
    Seat(SeatId),
    /// Every other seat of the session.
    Others,
}

/// A message to be published in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSeatMessage {
    /// The seat that sends the message.
    pub from: SeatId,
    /// The recipients.
    pub to: Recipients,
    /// The text of the transcript row.
    pub content: String,
    /// The metadata of the transcript row: an object.
    pub metadata: Value,
}

/// A message to one seat.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatMessage {
    /// The ID of the row.
    pub id: MessageId,
    /// The session.
    pub session: SessionId,
    /// The row's number in the session.
    pub seq: i64,
    /// The seat that sent the message.
    pub from: SeatId,
    /// The seat that receives the message.
    pub to: SeatId,
    /// The text of the transcript row.
    pub content: String,
    /// The metadata of the transcript row, which includes the seats as `_from_seat` and `_to_seat`.
    pub metadata: Value,
    /// The instant of publication.
    pub created_at: Timestamp,
    /// The instant at which the receiving seat acknowledged the message. `None` until then.
    pub delivered_at: Option<Timestamp>,
}

impl SeatMessage {
    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.get("id")?,
            session: row.get("session_id")?,
            seq: row.get("seq")?,
            from: row.get("from_seat_id")?,
            to: row.get("to_seat_id")?,
            content: row.get("content")?,
            metadata: row.json("metadata")?,
            created_at: row.get("created_at")?,
            delivered_at: row.optional("delivered_at")?,
        })
    }
}

impl Store {
    /// Publishes a message in a session. Writes a row for each receiving seat, in the order of the seats' IDs, and
    /// none if the session has no other seat.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the session is closed, [`Error::NotFound`] if a seat is not of this session.
    #[boxed]
    pub async fn publish_seat_message(
        &self,
        tenant: TenantId,
        session: SessionId,
        new: &NewSeatMessage,
        now: Timestamp,
    ) -> Result<Vec<SeatMessage>, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let found = tx
                    .fetch_all(sql!("seats/of_session"), params![tenant, session])
                    .await?;
                let seats: BTreeSet<SeatId> = found
                    .iter()
                    .map(|row| row.get("id"))
                    .collect::<Result<_, _>>()?;
                // 1. Lock the seats before the session, which is the lock order of all transitions.
                lock_seats(tx, &seats).await?;
                lock_session(tx, session).await?;
                let row = tx
                    .fetch_optional(sql!("sessions/by_id"), params![tenant, session])
                    .await?;
                let locked_session =
                    rows::session(&row.ok_or_else(|| Error::not_found("session", session))?)?;
                // 2. Check the session and the seats.
                if locked_session.status().admission() == Admission::Refuse {
                    return Err(Error::Refused(InvalidTransition {
                        what: SessionStatus::WHAT,
                        object: Some(session.to_string()),
                        state: locked_session.status().to_string(),
                        event: "take a message".into(),
                    }));
                }
                let named = match new.to {
                    Recipients::Seat(to) => vec![new.from, to],
                    Recipients::Others => vec![new.from],
                };
                if let Some(unknown_seat) = named.into_iter().find(|seat| !seats.contains(seat)) {
                    return Err(Error::not_found("seat", unknown_seat));
                }
                let to: Vec<SeatId> = match new.to {
                    Recipients::Seat(to) => vec![to],
                    Recipients::Others => seats.into_iter().filter(|to| *to != new.from).collect(),
                };
                // 3. Write a row for each receiving seat.
                let location = EntryLocation {
                    tenant,
                    session,
                    run: None,
                    seat: Some(new.from),
                };
                let mut log = SessionLogWriter::default();
                let mut published = Vec::with_capacity(to.len());
                // The session is locked, so these are the numbers under which `write` stores the rows.
                for (seq, to) in (locked_session.last_seq + 1..).zip(to) {
                    let metadata = with_seats(&new.metadata, new.from, to);
                    let content = new.content.clone();
                    // The agent sends a message by a tool call. Its role `assistant` is for answers to people.
                    let entry =
                        self.new_entry(Role::Tool, EntryKind::Message, content, metadata, now);
                    published.push(SeatMessage {
                        id: entry.id,
                        session,
                        seq,
                        from: new.from,
                        to,
                        content: entry.content.clone(),
                        metadata: entry.metadata.clone(),
                        created_at: now,
                        delivered_at: None,
                    });
                    log.add_seat_message(location, to, entry);
                }
                log.write(tx, now).await?;
                Ok(published)
            })
        })
        .await
    }

    /// Records that a message has reached its seat, and returns the instant of the first acknowledgement.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the message belongs to another seat or another tenant.
    #[boxed]
    pub async fn acknowledge_seat_message(
        &self,
        tenant: TenantId,
        message: MessageId,
        seat: SeatId,
        now: Timestamp,
    ) -> Result<Timestamp, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let row = tx
                    .fetch_optional(
                        sql!("messages/acknowledge"),
                        params![tenant, message, seat, now],
                    )
                    .await?;
                let row = row.ok_or_else(|| Error::not_found("message", message))?;
                Ok(row.get("delivered_at")?)
            })
        })
        .await
    }
}

/// Returns the metadata of a message with its seats added, so that transcripts and traces show them.
fn with_seats(metadata: &Value, from: SeatId, to: SeatId) -> Value {
    let mut fields = metadata.as_object().cloned().unwrap_or_default();
    fields.insert("_from_seat".into(), json!(from));
    fields.insert("_to_seat".into(), json!(to));
    Value::Object(fields)
}
