//! Reading what is published in a session, as it comes.

use std::collections::VecDeque;

use model::{SeatId, SessionId, TenantId};

use super::SeatMessage;
use crate::{
    Error, Scope, rows,
    store::Store,
    waking::{Changes, Wanted},
};

/// How many messages are read at once.
const PAGE: u32 = 100;

/// What is published in a session, from a place on and as it comes. It ends with the session.
///
/// What was published before anybody listened to the session's channel is read after that, by its number:
/// nothing is lost between what was missed and what comes.
pub struct Published {
    store: Store,
    tenant: TenantId,
    session: SessionId,
    to: Option<SeatId>,
    /// The number of the last message that was read.
    cursor: i64,
    /// Up to this number only what is not acknowledged is given.
    floor: i64,
    read: VecDeque<SeatMessage>,
    /// Whether there may be more than was read.
    look: bool,
    over: bool,
    changes: Changes,
    _channel: Wanted,
}

impl Store {
    /// Subscribes to what is published in a session, for one seat or for all. With `since`, everything after
    /// that number is given; without, what was not acknowledged so far and everything from now on.
    ///
    /// Must be called inside a runtime.
    pub async fn subscribe(
        &self,
        tenant: TenantId,
        session: SessionId,
        to: Option<SeatId>,
        since: Option<i64>,
    ) -> Result<Published, Error> {
        // First of all: whatever is read is older than what wakes.
        let changes = self.changes();
        let channel = Wanted::new(&self.wakes, session.uuid());
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_id"), params![tenant, session])
            .await?;
        let there = rows::session(&row.ok_or_else(|| Error::not_found("session", session))?)?;
        if let Some(to) = to {
            let seats = tx
                .fetch_all(sql!("seats/of_session"), params![tenant, session])
                .await?;
            let mut ids = seats.iter().map(|row| row.get::<SeatId>("id"));
            if !ids.any(|id| id.is_ok_and(|id| id == to)) {
                return Err(Error::not_found("seat", to));
            }
        }
        Ok(Published {
            store: self.clone(),
            tenant,
            session,
            to,
            cursor: since.unwrap_or(0),
            floor: if since.is_some() { 0 } else { there.last_seq },
            read: VecDeque::new(),
            look: true,
            over: false,
            changes,
            _channel: channel,
        })
    }
}

impl Published {
    /// Waits for the next message, in the order of their numbers; `None` once the session is gone. Nothing is
    /// lost if whoever calls stops waiting, nor after an error.
    pub async fn next(&mut self) -> Result<Option<SeatMessage>, Error> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Ok(Some(message));
            }
            if self.over {
                return Ok(None);
            }
            if self.look {
                self.read_on().await?;
            } else {
                let changed = self.changes.next().await;
                self.look = changed.everything || changed.logs.contains(&self.session.uuid());
            }
        }
    }

    /// Reads the next messages; where there are none, whether the session is there.
    async fn read_on(&mut self) -> Result<(), Error> {
        let mut tx = self.store.db.read(Scope::Tenant(self.tenant)).await?;
        let (tenant, session, to) = (self.tenant, self.session, self.to);
        let missed = self.cursor < self.floor;
        let found = if missed {
            let place = params![tenant, session, to, self.cursor, self.floor, PAGE];
            tx.fetch_all(sql!("messages/unacknowledged"), place).await?
        } else {
            let place = params![tenant, session, to, self.cursor, PAGE];
            tx.fetch_all(sql!("messages/published"), place).await?
        };
        let found = found.iter().map(SeatMessage::read);
        let found: VecDeque<SeatMessage> = found.collect::<Result<_, _>>()?;
        let there = if found.is_empty() {
            tx.fetch_optional(sql!("sessions/by_id"), params![tenant, session])
                .await?
                .is_some()
        } else {
            true
        };
        // From here on nothing waits, so nothing is half done.
        let all = found.len() < PAGE as usize;
        if let Some(last) = found.back() {
            self.cursor = last.seq;
        }
        if missed && all {
            self.cursor = self.floor;
        }
        self.look = missed || !all;
        self.over = !there;
        self.read = found;
        Ok(())
    }
}
