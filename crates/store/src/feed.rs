//! The feed of a tenant: the logs of its sessions and its automations, in the order in which transactions were
//! committed.
//!
//! **Invariants:** a reader that continues from its cursor misses no event and sees none twice. On PostgreSQL, the
//! feed ends below the oldest open transaction of the whole server, as one snapshot shows it. A long transaction in
//! any database of the server therefore delays the feed, but no event is lost.

use model::{AutomationId, SessionId, TenantId, entity::Message, event::Event, feed::FeedCursor};

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    rows,
    store::Store,
};

/// The maximum number of events that one page of an automation's feed scans.
const MAX_SCANNED_EVENTS: u32 = 500;

/// An event of a tenant's feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    /// The cursor right after the event.
    pub cursor: FeedCursor,
    /// The session whose log holds the event. `None` if an automation's own log holds it.
    pub session_id: Option<SessionId>,
    /// The automation to which the event belongs: the one whose own log holds it, whose run it concerns, or whose
    /// session the event is from.
    pub automation_id: Option<AutomationId>,
    /// The event.
    pub event: Event,
    /// The transcript row that the event announces, in its present state.
    pub message: Option<Message>,
}

/// A page of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The events, in order.
    pub events: Vec<FeedEvent>,
    /// The cursor to continue from. No later event will appear before it.
    pub next_cursor: FeedCursor,
    /// `true` if more events may be available at once.
    pub has_more: bool,
    /// `true` if transactions are open. Their events, and those of transactions that were committed after they began,
    /// appear once they end, at an unknown instant.
    pub has_open_transactions: bool,
    /// The reason why the feed cannot be read on from the cursor. The page is empty then.
    pub unusable_cursor: Option<UnusableCursor>,
}

/// The reason why a feed cannot be read on from a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusableCursor {
    /// Retention has removed events after the cursor. The last of them is right before this cursor.
    Trimmed(FeedCursor),
    /// The cursor is ahead of all transactions: the database was restored from a backup that is older than it.
    Ahead,
}

/// The bounds within which a feed can be read.
struct FeedBounds {
    /// The cursor before the first transaction that may be open.
    end: FeedCursor,
    /// The number of the first transaction that has not begun.
    next_transaction: i64,
    /// The cursor of the last event that retention has removed.
    trimmed: Option<FeedCursor>,
}

impl FeedBounds {
    async fn read(tx: &mut Tx, tenant: TenantId) -> Result<Self, Error> {
        let row = tx
            .fetch_one(sql_of_each!("feed/horizon"), params![tenant])
            .await?;
        let trimmed: Option<i64> = row.optional("transaction_id")?;
        Ok(Self {
            end: FeedCursor::before(row.get("horizon")?),
            next_transaction: row.get("next")?,
            trimmed: trimmed.map(|_| read_cursor(&row)).transpose()?,
        })
    }

    fn check_cursor(&self, after: FeedCursor) -> Option<UnusableCursor> {
        if after.transaction > self.next_transaction {
            return Some(UnusableCursor::Ahead);
        }
        let trimmed = self.trimmed.filter(|trimmed| after < *trimmed);
        trimmed.map(UnusableCursor::Trimmed)
    }
}

impl Store {
    /// Returns a page of a tenant's feed after a cursor, in order.
    ///
    /// The events of a deleted session are removed with it. Readers get no notice that they are missing.
    #[boxed]
    pub async fn feed(
        &self,
        tenant: TenantId,
        after: FeedCursor,
        limit: u32,
    ) -> Result<FeedPage, Error> {
        self.feed_page(tenant, None, after, limit, limit).await
    }

    /// Returns a page of the events of an automation in its tenant's feed: the logs of its own sessions, the events
    /// of its runs in sessions that it is bound to, and its own log. It scans a bounded part of the feed, so a page
    /// may be empty although more events follow.
    #[boxed]
    pub async fn automation_feed(
        &self,
        tenant: TenantId,
        automation: AutomationId,
        after: FeedCursor,
        limit: u32,
    ) -> Result<FeedPage, Error> {
        self.feed_page(tenant, Some(automation), after, limit, MAX_SCANNED_EVENTS)
            .await
    }

    /// Returns the cursor from which a reader sees only future events, and those that were committed after the
    /// beginning of a transaction that is still open.
    #[boxed]
    pub async fn feed_head(&self, tenant: TenantId) -> Result<FeedCursor, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        Ok(FeedBounds::read(&mut tx, tenant).await?.end)
    }

    async fn feed_page(
        &self,
        tenant: TenantId,
        automation: Option<AutomationId>,
        after: FeedCursor,
        limit: u32,
        scan: u32,
    ) -> Result<FeedPage, Error> {
        // Use one snapshot for both statements. With two, a transaction could commit between them, and the page would
        // skip its events.
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let horizon = FeedBounds::read(&mut tx, tenant).await?;
        let mut page = FeedPage {
            events: Vec::new(),
            next_cursor: after,
            has_more: false,
            has_open_transactions: horizon.end.transaction < horizon.next_transaction,
            unusable_cursor: horizon.check_cursor(after),
        };
        if page.unusable_cursor.is_some() {
            // Continue at the end of the feed: the caller must tell its reader that events are missing.
            page.next_cursor = horizon.end;
            return Ok(page);
        }
        let end = horizon.end.transaction;
        let FeedCursor {
            transaction,
            log,
            seq,
        } = after;
        let found = tx
            .fetch_all(
                sql!("feed/page"),
                params! { "feed/page";
                    tenant: tenant,
                    transaction: transaction,
                    log: log,
                    seq: seq,
                    horizon: end,
                    limit: scan,
                    automation: automation,
                },
            )
            .await?;
        for row in &found {
            if page.events.len() >= limit as usize {
                page.has_more = true;
                return Ok(page);
            }
            // Advance the cursor over other automations' events, too, so that no later page scans them again.
            page.next_cursor = read_cursor(row)?;
            if row.get("wanted")? {
                page.events.push(feed_event(row)?);
            }
        }
        page.has_more = found.len() >= scan as usize;
        if !page.has_more {
            // All events below the horizon are read, and new events appear above it.
            page.next_cursor = after.max(horizon.end);
        }
        Ok(page)
    }
}

/// Records how far retention has trimmed a tenant's feed, from the rows that it has removed.
pub(crate) async fn note_trimmed(
    tx: &mut Tx,
    tenant: TenantId,
    removed: &[Row],
) -> Result<(), Error> {
    let removed: Vec<FeedCursor> = removed.iter().map(read_cursor).collect::<Result<_, _>>()?;
    if let Some(last) = removed.into_iter().max() {
        tx.execute(
            sql!("feed/note_trimmed"),
            params![tenant, last.transaction, last.log, last.seq],
        )
        .await?;
    }
    Ok(())
}

fn read_cursor(row: &Row) -> Result<FeedCursor, Error> {
    Ok(FeedCursor {
        transaction: row.get("transaction_id")?,
        log: row.get("log_id")?,
        seq: row.get("seq")?,
    })
}

fn feed_event(row: &Row) -> Result<FeedEvent, Error> {
    let cursor = read_cursor(row)?;
    let session_id: Option<SessionId> = row.optional("session_id")?;
    let automation_id = match session_id {
        None => Some(AutomationId::from_uuid(cursor.log)),
        Some(_) => match row.optional("run_automation_id")? {
            None => row.optional("schedule_id")?,
            of_run => of_run,
        },
    };
    Ok(FeedEvent {
        cursor,
        session_id,
        automation_id,
        event: rows::event(row)?,
        message: rows::announced_message(row)?,
    })
}
