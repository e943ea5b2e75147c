//! Subscriptions to the messages that are published in a session.

use std::collections::VecDeque;

use model::{SeatId, SessionId, TenantId};

use crate::{
    Error, Scope, boxed,
    changes::{Changes, ChannelSubscription},
    rows,
    seat_message_rows::SeatMessage,
    store::Store,
};

/// The maximum number of messages that one read returns.
const MAX_MESSAGES_PER_READ: u32 = 100;

/// A stream of the messages of a session, from a position on. It ends when the session is deleted.
///
/// It subscribes before its first read, and reads messages by number, so that no message is missed or repeated
/// between the stored messages and those that follow.
pub struct SeatMessageStream {
    store: Store,
    tenant: TenantId,
    session: SessionId,
    to: Option<SeatId>,
    /// The number of the last message that was read.
    cursor: i64,
    /// The number up to which only messages that are not acknowledged are delivered.
    backlog_end: i64,
    buffered: VecDeque<SeatMessage>,
    /// `true` if there may be messages that are not read yet.
    may_have_more: bool,
    session_deleted: bool,
    changes: Changes,
    _channel: ChannelSubscription,
}

impl Store {
    /// Subscribes to the messages of a session, for one seat or for all. With `since`, delivers all messages after
    /// that number. Without it, delivers the messages that are not acknowledged yet, and all future ones.
    ///
    /// Must be called inside a Tokio runtime.
    #[boxed]
    pub async fn subscribe_to_seat_messages(
        &self,
        tenant: TenantId,
        session: SessionId,
        to: Option<SeatId>,
        since: Option<i64>,
    ) -> Result<SeatMessageStream, Error> {
        // Subscribe before the first read: a message that is published between them would wait for the next poll.
        let changes = self.changes();
        let channel = ChannelSubscription::new(&self.change_notifier, session.uuid());
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_id"), params![tenant, session])
            .await?;
        let session_row = rows::session(&row.ok_or_else(|| Error::not_found("session", session))?)?;
        if let Some(to) = to {
            let seats = tx
                .fetch_all(sql!("seats/of_session"), params![tenant, session])
                .await?;
            let mut ids = seats.iter().map(|row| row.get::<SeatId>("id"));
            if !ids.any(|id| id.is_ok_and(|id| id == to)) {
                return Err(Error::not_found("seat", to));
            }
        }
        Ok(SeatMessageStream {
            store: self.clone(),
            tenant,
            session,
            to,
            cursor: since.unwrap_or(0),
            backlog_end: if since.is_some() {
                0
            } else {
                session_row.last_seq
            },
            buffered: VecDeque::new(),
            may_have_more: true,
            session_deleted: false,
            changes,
            _channel: channel,
        })
    }
}

impl SeatMessageStream {
    /// Waits for the next message, in the order of their numbers. Returns `None` once the session is deleted. No
    /// message is lost if the future is dropped, or after an error.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<SeatMessage>, Error> {
        loop {
            if let Some(message) = self.buffered.pop_front() {
                return Ok(Some(message));
            }
            if self.session_deleted {
                return Ok(None);
            }
            if self.may_have_more {
                self.read_next().await?;
            } else {
                let changed = self.changes.next().await;
                self.may_have_more =
                    changed.everything || changed.logs.contains(&self.session.uuid());
            }
        }
    }

    /// Reads the next messages. If there are none, checks whether the session still exists.
    async fn read_next(&mut self) -> Result<(), Error> {
        let mut tx = self.store.db.begin_read(Scope::Tenant(self.tenant)).await?;
        let (tenant, session, to) = (self.tenant, self.session, self.to);
        let is_in_backlog = self.cursor < self.backlog_end;
        let found = if is_in_backlog {
            let params = params![
                tenant,
                session,
                to,
                self.cursor,
                self.backlog_end,
                MAX_MESSAGES_PER_READ
            ];
            tx.fetch_all(sql!("messages/unacknowledged"), params)
                .await?
        } else {
            let params = params![tenant, session, to, self.cursor, MAX_MESSAGES_PER_READ];
            tx.fetch_all(sql!("messages/published"), params).await?
        };
        let found = found.iter().map(SeatMessage::read);
        let found: VecDeque<SeatMessage> = found.collect::<Result<_, _>>()?;
        let session_exists = if found.is_empty() {
            tx.fetch_optional(sql!("sessions/by_id"), params![tenant, session])
                .await?
                .is_some()
        } else {
            true
        };
        // There is no await below, so a dropped future leaves the fields consistent.
        let is_complete = found.len() < MAX_MESSAGES_PER_READ as usize;
        if let Some(last) = found.back() {
            self.cursor = last.seq;
        }
        if is_in_backlog && is_complete {
            self.cursor = self.backlog_end;
        }
        self.may_have_more = is_in_backlog || !is_complete;
        self.session_deleted = !session_exists;
        self.buffered = found;
        Ok(())
    }
}
