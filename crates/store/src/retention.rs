//! Retention: removes old internal records, old events, leftovers of ended runs, expired sign-ins, recorded responses
//! that no client will request again, and the usage of past months.
//!
//! **Invariants:** transcripts and runs stay, and nothing of an unfinished run is removed. A log is trimmed from its
//! beginning, so that the rest has no gap. Each transaction is small, so that writers do not wait long. Only one
//! process removes rows at a time; the others remove nothing meanwhile, and do not wait.

use model::{AutomationId, RunId, SessionId, TenantId, Timestamp};
use uuid::Uuid;

use crate::{Error, Scope, boxed, database::Tx, feed, store::Store};

/// The maximum number of rows that one transaction removes.
const MAX_TRIMMED_ROWS: u32 = 500;
/// The maximum number of logs that one call examines.
const MAX_EXAMINED_LOGS: u32 = 500;

/// The key of retention's advisory lock; "matinsr" in ASCII.
const RETENTION_LOCK_KEY: i64 = 0x6d_6174_696e_7372;

/// Takes retention's lock until the end of the transaction. Returns `false` if another process holds it: two
/// processes that delete the same rows would wait for each other and find nothing. On SQLite, there is only one
/// writer.
pub(crate) async fn try_retention_lock(tx: &mut Tx) -> Result<bool, Error> {
    if !tx.locks_rows() {
        return Ok(true);
    }
    let statement = sql_of_postgres!("retention/try_lock");
    Ok(tx
        .fetch_one(statement, params![RETENTION_LOCK_KEY])
        .await?
        .get("taken")?)
}

/// The result of trimming logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogsTrimmed {
    /// The number of events that were removed.
    pub events: u32,
    /// The session after which the next call continues.
    pub after: Option<SessionId>,
    /// `true` if the next call has more to remove.
    pub has_more: bool,
}

impl Store {
    /// Removes some internal records of runs that ended before an instant. Returns the number of removed rows.
    /// Returns 0 if there are no more, or if another process is removing rows.
    #[boxed]
    pub async fn trim_records(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(
                        sql!("records/trim"),
                        params![before, RunId::first_at(before), MAX_TRIMMED_ROWS],
                    )
                    .await?)
            })
        })
        .await
    }

    /// Removes some heartbeats and live texts whose runs ended before an instant. Returns the number of removed rows.
    #[boxed]
    pub async fn trim_leftovers(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                let limit = MAX_TRIMMED_ROWS;
                let heartbeats = tx
                    .execute(sql!("heartbeats/trim"), params![before, limit])
                    .await?;
                let texts = tx
                    .execute(sql!("live/trim"), params![before, limit])
                    .await?;
                Ok(heartbeats + texts)
            })
        })
        .await
    }

    /// Removes some sign-in links and browser tokens that expired before an instant. Returns the number of removed
    /// rows.
    #[boxed]
    pub async fn trim_sign_ins(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                let limit = MAX_TRIMMED_ROWS;
                let links = tx
                    .execute(sql!("sign_in_links/trim"), params![before, limit])
                    .await?;
                let tokens = tx
                    .execute(sql!("tokens/trim"), params![before, limit])
                    .await?;
                Ok(links + tokens)
            })
        })
        .await
    }

    /// Removes some idempotency keys that were claimed before an instant, with their responses. Returns the number of
    /// removed rows.
    #[boxed]
    pub async fn trim_idempotency_keys(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(
                        sql!("idempotency_keys/trim"),
                        params![before, MAX_TRIMMED_ROWS],
                    )
                    .await?)
            })
        })
        .await
    }

    /// Removes some usage of days that began before an instant. Returns the number of removed rows.
    #[boxed]
    pub async fn trim_usage(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(sql!("spending/trim"), params![before, MAX_TRIMMED_ROWS])
                    .await?)
            })
        })
        .await
    }

    /// Removes events that were written before an instant from the logs of some sessions, those that follow `after`.
    /// Keeps all events since the creation of the oldest unfinished run.
    #[boxed]
    pub async fn trim_logs(
        &self,
        before: Timestamp,
        after: Option<SessionId>,
    ) -> Result<LogsTrimmed, Error> {
        let logs = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            let first = after.unwrap_or(SessionId::from_uuid(Uuid::nil()));
            tx.fetch_all(sql!("events/logs"), params![first, MAX_EXAMINED_LOGS])
                .await?
        };
        let mut trimmed = LogsTrimmed {
            events: 0,
            after,
            has_more: logs.len() >= MAX_EXAMINED_LOGS as usize,
        };
        for row in &logs {
            let (session, tenant) = (row.get("id")?, row.get("tenant_id")?);
            let oldest: Option<Timestamp> = row.optional("oldest")?;
            if oldest.is_some_and(|oldest| oldest < before) {
                if trimmed.events >= MAX_TRIMMED_ROWS {
                    trimmed.has_more = true;
                    break;
                }
                let removed = self.trim_log(tenant, session, before).await?;
                trimmed.events += removed;
                if removed >= MAX_TRIMMED_ROWS {
                    // Leave the rest of this log for the next call, so that no call takes long.
                    trimmed.has_more = true;
                    break;
                }
            }
            trimmed.after = Some(session);
        }
        Ok(trimmed)
    }

    async fn trim_log(
        &self,
        tenant: TenantId,
        session: SessionId,
        before: Timestamp,
    ) -> Result<u32, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !try_retention_lock(tx).await? {
                    return Ok(0);
                }
                let row = tx
                    .fetch_one(sql!("events/open_since"), params![tenant, session])
                    .await?;
                let open_since: Option<Timestamp> = row.optional("at")?;
                // Readers of an unfinished run need its events from its beginning.
                let before = open_since.map_or(before, |since| since.min(before));
                let removed = tx
                    .fetch_all(
                        sql!("events/trim"),
                        params![session, before, MAX_TRIMMED_ROWS],
                    )
                    .await?;
                feed::note_trimmed(tx, tenant, &removed).await?;
                Ok(u32::try_from(removed.len()).unwrap_or(u32::MAX))
            })
        })
        .await
    }

    /// Removes some events that were written before an instant from the automations' own logs. Returns the number of
    /// removed events. Returns 0 if there are no more, or if another process is removing rows.
    #[boxed]
    pub async fn trim_automation_logs(&self, before: Timestamp) -> Result<u64, Error> {
        let logs = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(
                sql!("automations/old_logs"),
                params![before, MAX_EXAMINED_LOGS],
            )
            .await?
        };
        let mut trimmed = 0;
        for row in &logs {
            let (automation, tenant): (AutomationId, TenantId) =
                (row.get("id")?, row.get("tenant_id")?);
            trimmed += self
                .transact(Scope::System, |tx, _| {
                    Box::pin(async move {
                        if !try_retention_lock(tx).await? {
                            return Ok(0);
                        }
                        let removed = tx
                            .fetch_all(
                                sql!("automations/trim_log"),
                                params![automation, before, MAX_TRIMMED_ROWS],
                            )
                            .await?;
                        feed::note_trimmed(tx, tenant, &removed).await?;
                        Ok(removed.len() as u64)
                    })
                })
                .await?;
            if trimmed >= u64::from(MAX_TRIMMED_ROWS) {
                break;
            }
        }
        Ok(trimmed)
    }
}
