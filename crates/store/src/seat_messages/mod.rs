//! Messages between the seats of a session.
//!
//! **Invariants:** each message is first stored as one row for each receiving seat. A row is numbered like all rows of
//! a transcript: under the session's lock, in the transaction that writes it. The same transaction makes sure that each
//! receiving seat has an input for its messages. Subscribers read rows by number; their notifications carry none. A message
//! is delivered again to each new subscription, and carried by the turns of its seat, until one of these turns succeeds or
//! the message is acknowledged.

mod publication;
mod read;
mod stream;

use std::collections::BTreeSet;

use model::{MessageId, SeatId, SessionId, TenantId, Timestamp};

use crate::{
    Error, Scope, boxed,
    locks::lock_seat_with_goal,
    runs::seat_input::{WakeCause, wake_seats},
    seat_message_rows::SeatMessage,
    session_log::SessionLogWriter,
    store::Store,
};

pub use publication::{NewSeatMessage, Recipients};
pub(crate) use publication::{Publication, lock_team, publish, publish_to_itself};
pub use stream::SeatMessageStream;

impl Store {
    /// Publishes a message in a session. Writes a row for each receiving seat, in the order of the seats' IDs, and
    /// none if the session has no other seat. Each receiving seat gets an input for its messages, unless one waits already.
    /// The caller may reserve the ID of the first row, so that a repeated request publishes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the session is closed, [`Error::NotFound`] if a seat is not of this session,
    /// [`Error::AlreadyCreated`] if a message with the reserved ID exists, and [`Error::SeatFull`] if a receiving seat has too
    /// many undelivered messages.
    #[boxed]
    pub async fn publish_seat_message(
        &self,
        tenant: TenantId,
        session: SessionId,
        reserved: Option<MessageId>,
        new: &NewSeatMessage,
        now: Timestamp,
    ) -> Result<Vec<SeatMessage>, Error> {
        self.transact(Scope::Tenant(tenant), |tx, _| {
            Box::pin(async move {
                let (session, seats) = lock_team(tx, tenant, session).await?;
                if let Some(id) = reserved {
                    let existing = tx
                        .fetch_optional(sql!("messages/to_seat"), params![tenant, session.id, id])
                        .await?;
                    if existing.is_some() {
                        return Err(Error::already_created("message", id));
                    }
                }
                let publication = Publication {
                    except: BTreeSet::new(),
                    tenant,
                    session: &session,
                    run: None,
                    reserved,
                    chain_length: 1,
                    new,
                };
                publish(self, tx, &seats, &publication, None, now).await
            })
        })
        .await
    }

    /// Records that a message has reached its seat, and returns the instant of the first acknowledgement. The messages
    /// behind it get an input, if they had none.
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
                lock_seat_with_goal(tx, seat).await?;
                let row = tx
                    .fetch_optional(
                        sql!("messages/acknowledge"),
                        params![tenant, message, seat, now],
                    )
                    .await?;
                let row = row.ok_or_else(|| Error::not_found("message", message))?;
                let delivered_at = row.get("delivered_at")?;
                // A message that was delivered before made no room for others.
                if delivered_at == now {
                    let mut log = SessionLogWriter::default();
                    let seats = [(seat, WakeCause::Message)].into();
                    wake_seats(self, tx, &mut log, &seats, now).await?;
                    log.write(tx, now).await?;
                }
                Ok(delivered_at)
            })
        })
        .await
    }
}
