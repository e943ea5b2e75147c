//! The feed of everything that a tenant may see: the logs of its sessions and of its automations, in the
//! order in which transactions were committed.
//!
//! **Invariants:** a reader that goes on from the place to which it has read misses nothing and sees
//! nothing twice. On PostgreSQL it sees only what is below the oldest transaction under way on the whole
//! server, as one snapshot has it: a transaction that is open for long, in whatever database, holds back
//! the feed, and loses nothing.

use model::{AutomationId, SessionId, TenantId, entity::Message, event::Event, feed::FeedCursor};

use crate::{
    Error, Scope,
    database::{Row, Tx},
    rows,
    store::Store,
};

/// How many events one look at the feed of an automation goes through at the most.
const SCAN: u32 = 500;

/// An event of a tenant's feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEvent {
    /// The place right after it.
    pub cursor: FeedCursor,
    /// The session whose log it is from; absent: it is from an automation's own log.
    pub session_id: Option<SessionId>,
    /// The automation that it belongs to: whose own log it is from, whose run it is about, or whose
    /// session it is from.
    pub automation_id: Option<AutomationId>,
    /// The event.
    pub event: Event,
    /// The row of the transcript that it announces, as it is by now.
    pub message: Option<Message>,
}

/// A page of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// What was found, in order.
    pub events: Vec<FeedEvent>,
    /// The place to go on from: nothing before it is still to come.
    pub scanned: FeedCursor,
    /// Whether there may be more at once.
    pub more: bool,
    /// Whether transactions are under way: what they write, and what was written beside them, comes
    /// once they are over, and nobody may tell when that is.
    pub held: bool,
    /// Why the page is empty, where the place to begin was none any more.
    pub lost: Option<Lost>,
}

/// Why a place is none from which a feed can be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Retention has removed events after it, the last of them right before this place.
    Trimmed(FeedCursor),
    /// No transaction has come so far: it is from a database that this one is an older copy of.
    Ahead,
}

/// How far a feed can be read.
struct Horizon {
    /// The first transaction that may be under way.
    end: FeedCursor,
    /// The first transaction that nobody has begun.
    next: i64,
    /// The last place that retention has removed.
    trimmed: Option<FeedCursor>,
}

impl Horizon {
    async fn read(tx: &mut Tx, tenant: TenantId) -> Result<Self, Error> {
        let row = tx
            .fetch_one(sql_of_each!("feed/horizon"), params![tenant])
            .await?;
        let trimmed: Option<i64> = row.optional("transaction_id")?;
        Ok(Self {
            end: FeedCursor::before(row.get("horizon")?),
            next: row.get("next")?,
            trimmed: trimmed.map(|_| cursor(&row)).transpose()?,
        })
    }

    fn lost(&self, after: FeedCursor) -> Option<Lost> {
        if after.transaction > self.next {
            return Some(Lost::Ahead);
        }
        let trimmed = self.trimmed.filter(|trimmed| after < *trimmed);
        trimmed.map(Lost::Trimmed)
    }
}

impl Store {
    /// Reads a tenant's feed after a place, in order.
    ///
    /// The events of a session that was deleted are gone with it, and are not missed.
    pub async fn feed(
        &self,
        tenant: TenantId,
        after: FeedCursor,
        limit: u32,
    ) -> Result<FeedPage, Error> {
        self.feed_page(tenant, None, after, limit, limit).await
    }

    /// Reads what belongs to an automation in its tenant's feed: the logs of its own sessions, its runs
    /// and what they said in sessions that it is bound to, and its own log. It goes through a bounded piece
    /// of the feed, so that a page may be empty though there is more.
    pub async fn automation_feed(
        &self,
        tenant: TenantId,
        automation: AutomationId,
        after: FeedCursor,
        limit: u32,
    ) -> Result<FeedPage, Error> {
        self.feed_page(tenant, Some(automation), after, limit, SCAN)
            .await
    }

    /// The place from which whoever reads a tenant's feed sees only what is yet to come, and what
    /// transactions wrote beside one that is still under way.
    pub async fn feed_head(&self, tenant: TenantId) -> Result<FeedCursor, Error> {
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        Ok(Horizon::read(&mut tx, tenant).await?.end)
    }

    async fn feed_page(
        &self,
        tenant: TenantId,
        automation: Option<AutomationId>,
        after: FeedCursor,
        limit: u32,
        scan: u32,
    ) -> Result<FeedPage, Error> {
        // One snapshot for both statements: what the first says of transactions holds for the second.
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let horizon = Horizon::read(&mut tx, tenant).await?;
        let mut page = FeedPage {
            events: Vec::new(),
            scanned: after,
            more: false,
            held: horizon.end.transaction < horizon.next,
            lost: horizon.lost(after),
        };
        if page.lost.is_some() {
            page.scanned = horizon.end;
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
                page.more = true;
                return Ok(page);
            }
            page.scanned = cursor(row)?;
            if row.get("wanted")? {
                page.events.push(feed_event(row)?);
            }
        }
        page.more = found.len() >= scan as usize;
        if !page.more {
            // Nothing is left below the horizon, and what comes is above it.
            page.scanned = after.max(horizon.end);
        }
        Ok(page)
    }
}

/// Notes how far retention has trimmed a tenant's feed, from the rows that it has removed.
pub(crate) async fn note_trimmed(
    tx: &mut Tx,
    tenant: TenantId,
    removed: &[Row],
) -> Result<(), Error> {
    let removed: Vec<FeedCursor> = removed.iter().map(cursor).collect::<Result<_, _>>()?;
    if let Some(last) = removed.into_iter().max() {
        tx.execute(
            sql!("feed/note_trimmed"),
            params![tenant, last.transaction, last.log, last.seq],
        )
        .await?;
    }
    Ok(())
}

fn cursor(row: &Row) -> Result<FeedCursor, Error> {
    Ok(FeedCursor {
        transaction: row.get("transaction_id")?,
        log: row.get("log_id")?,
        seq: row.get("seq")?,
    })
}

fn feed_event(row: &Row) -> Result<FeedEvent, Error> {
    let cursor = cursor(row)?;
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
        message: rows::announced(row)?,
    })
}
