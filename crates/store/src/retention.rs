//! Removing what is old: internal records, the beginnings of logs, what ended runs left behind, sign-ins
//! that are over, answers to requests that nobody will repeat, and what was used in months that are over.
//!
//! **Invariants:** transcripts and runs stay, and nothing goes of a run that is not over. A log is
//! trimmed from its beginning, so that what is kept has no gap. Each transaction is small, so that
//! writers wait for none of them long. Of several processes one at a time removes something: another one finds
//! nothing to remove meanwhile, and does not wait.

use model::{AutomationId, RunId, SessionId, TenantId, Timestamp};
use uuid::Uuid;

use crate::{Error, Scope, database::Tx, feed, store::Store};

/// How many rows one transaction removes at the most.
const ROWS_AT_ONCE: u32 = 500;
/// How many sessions' logs one look takes at the most.
const LOGS_AT_ONCE: u32 = 500;

/// The key of the advisory lock of whoever removes what is old; "matinsr" in ASCII.
const LOCK: i64 = 0x6d_6174_696e_7372;

/// Takes the right to remove what is old until the end of the transaction; gives whether it is to be had. Of
/// two who remove the same rows one would wait for the other to find nothing. On SQLite there is one writer.
pub(crate) async fn alone(tx: &mut Tx) -> Result<bool, Error> {
    if !tx.locks_rows() {
        return Ok(true);
    }
    let statement = sql_of_postgres!("retention/try_lock");
    Ok(tx.fetch_one(statement, params![LOCK]).await?.get("taken")?)
}

/// What a look at the logs did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogsTrimmed {
    /// How many events were removed.
    pub events: u32,
    /// The session after which the next look goes on.
    pub after: Option<SessionId>,
    /// Whether anything is left for the next look.
    pub more: bool,
}

impl Store {
    /// Removes internal records of runs that ended before an instant, some of them. Gives how many rows
    /// went; none means that no more are there, or that another process is at it.
    pub async fn trim_records(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !alone(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(
                        sql!("records/trim"),
                        params![before, RunId::first_at(before), ROWS_AT_ONCE],
                    )
                    .await?)
            })
        })
        .await
    }

    /// Removes heartbeats and live text that are there though their runs ended before an instant, some
    /// of them. Gives how many rows went.
    pub async fn trim_leftovers(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !alone(tx).await? {
                    return Ok(0);
                }
                let limit = ROWS_AT_ONCE;
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

    /// Removes what signed browsers in and ended before an instant, some of it: links and tokens. Gives how
    /// many rows went.
    pub async fn trim_sign_ins(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !alone(tx).await? {
                    return Ok(0);
                }
                let limit = ROWS_AT_ONCE;
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

    /// Removes keys of requests that were claimed before an instant, with their answers, some of them.
    /// Gives how many rows went.
    pub async fn trim_answers(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !alone(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(sql!("answers/trim"), params![before, ROWS_AT_ONCE])
                    .await?)
            })
        })
        .await
    }

    /// Removes what was used on days that began before an instant, some of it. Gives how many rows went.
    pub async fn trim_spending(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !alone(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(sql!("spending/trim"), params![before, ROWS_AT_ONCE])
                    .await?)
            })
        })
        .await
    }

    /// Removes events that were written before an instant from the logs of some sessions, those that
    /// follow `after`. What comes after the beginning of a run that is not over stays.
    pub async fn trim_logs(
        &self,
        before: Timestamp,
        after: Option<SessionId>,
    ) -> Result<LogsTrimmed, Error> {
        let logs = {
            let mut tx = self.db.read(Scope::System).await?;
            let first = after.unwrap_or(SessionId::from_uuid(Uuid::nil()));
            tx.fetch_all(sql!("events/logs"), params![first, LOGS_AT_ONCE])
                .await?
        };
        let mut trimmed = LogsTrimmed {
            events: 0,
            after,
            more: logs.len() >= LOGS_AT_ONCE as usize,
        };
        for row in &logs {
            let (session, tenant) = (row.get("id")?, row.get("tenant_id")?);
            let oldest: Option<Timestamp> = row.optional("oldest")?;
            if oldest.is_some_and(|oldest| oldest < before) {
                if trimmed.events >= ROWS_AT_ONCE {
                    trimmed.more = true;
                    break;
                }
                let removed = self.trim_log(tenant, session, before).await?;
                trimmed.events += removed;
                if removed >= ROWS_AT_ONCE {
                    // The rest of this log is for the next look.
                    trimmed.more = true;
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
                if !alone(tx).await? {
                    return Ok(0);
                }
                let row = tx
                    .fetch_one(sql!("events/open_since"), params![tenant, session])
                    .await?;
                let open_since: Option<Timestamp> = row.optional("at")?;
                let before = open_since.map_or(before, |since| since.min(before));
                let removed = tx
                    .fetch_all(sql!("events/trim"), params![session, before, ROWS_AT_ONCE])
                    .await?;
                feed::note_trimmed(tx, tenant, &removed).await?;
                Ok(u32::try_from(removed.len()).unwrap_or(u32::MAX))
            })
        })
        .await
    }

    /// Removes events that were written before an instant from the automations' own logs, some of them.
    /// Gives how many went; none means that no more are there, or that another process is at it.
    pub async fn trim_automation_logs(&self, before: Timestamp) -> Result<u64, Error> {
        let logs = {
            let mut tx = self.db.read(Scope::System).await?;
            tx.fetch_all(sql!("automations/old_logs"), params![before, LOGS_AT_ONCE])
                .await?
        };
        let mut trimmed = 0;
        for row in &logs {
            let (automation, tenant): (AutomationId, TenantId) =
                (row.get("id")?, row.get("tenant_id")?);
            trimmed += self
                .transact(Scope::System, |tx, _| {
                    Box::pin(async move {
                        if !alone(tx).await? {
                            return Ok(0);
                        }
                        let removed = tx
                            .fetch_all(
                                sql!("automations/trim_log"),
                                params![automation, before, ROWS_AT_ONCE],
                            )
                            .await?;
                        feed::note_trimmed(tx, tenant, &removed).await?;
                        Ok(removed.len() as u64)
                    })
                })
                .await?;
            if trimmed >= u64::from(ROWS_AT_ONCE) {
                break;
            }
        }
        Ok(trimmed)
    }
}
