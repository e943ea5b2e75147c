//! Queries for the messages between seats.

use model::{MessageId, SeatId, SessionId, TenantId, seat_message::NamedSeat};

use super::publication::{Team, read_team};
use crate::{Error, Scope, boxed, seat_message_rows::SeatMessage, store::Store};

impl Store {
    /// Lists up to `limit` messages between the seats of a session after a number, in order: those to one seat, or all.
    #[boxed]
    pub async fn seat_messages(
        &self,
        tenant: TenantId,
        session: SessionId,
        to: Option<SeatId>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<SeatMessage>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("messages/published"),
                params![tenant, session, to, after, limit],
            )
            .await?;
        found.iter().map(SeatMessage::read).collect()
    }

    /// Lists up to `limit` messages between the seats of a session before a number, the newest first: those to one seat,
    /// or all.
    #[boxed]
    pub async fn seat_messages_before(
        &self,
        tenant: TenantId,
        session: SessionId,
        to: Option<SeatId>,
        before: i64,
        limit: u32,
    ) -> Result<Vec<SeatMessage>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("messages/published_before"),
                params![tenant, session, to, before, limit],
            )
            .await?;
        found.iter().map(SeatMessage::read).collect()
    }

    /// Reads one message between the seats of a session.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the session has no such message to a seat.
    #[boxed]
    pub async fn seat_message(
        &self,
        tenant: TenantId,
        session: SessionId,
        id: MessageId,
    ) -> Result<SeatMessage, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("messages/to_seat"), params![tenant, session, id])
            .await?;
        SeatMessage::read(&row.ok_or_else(|| Error::not_found("message", id))?)
    }

    /// Lists the seats of a session with their names, the oldest first.
    #[boxed]
    pub async fn seat_names(
        &self,
        tenant: TenantId,
        session: SessionId,
    ) -> Result<Vec<NamedSeat>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let team: Team = read_team(&mut tx, tenant, session).await?;
        Ok(team.into_values().collect())
    }
}
