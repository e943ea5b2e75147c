//! Housekeeping: removes old internal records, log events, leftovers of ended runs, recorded responses of requests,
//! expired sign-ins, webhook receipts, deliveries, usage counters, automations of agents that are over, expired memory
//! entries, and contents without an artifact.
//!
//! **Invariants:** transcripts and runs are never removed. Each tick removes a small batch, with a pause after it, so
//! that writers never wait long.

use model::{SessionId, Timestamp, limits};

use crate::{Error, Host, boxed, content_sweep::sweep_contents, loop_runner::LoopBody};

/// The progress of one round through all old rows.
#[derive(Debug, Default)]
pub struct TrimProgress {
    /// The last session whose log was trimmed. `None` at the beginning of a round.
    last_trimmed_session: Option<SessionId>,
    /// The number of rows that this round has removed.
    removed: u64,
}

/// Removes one batch. Returns when the next batch is due: after a short pause if more rows may be old, otherwise
/// after an hour. Removes nothing while the time is unknown, because no age can be judged.
#[boxed]
pub async fn tick(
    host: &Host,
    round: &mut TrimProgress,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    if !host.time_is_known() {
        return Ok(now + limits::SCHEDULER_POLL_INTERVAL);
    }
    // 1. Remove the rows with fixed ages.
    let store = &host.store;
    let leftovers_before = now.saturating_sub(limits::RETAIN_LEFTOVERS);
    let mut removed = store.trim_leftovers(leftovers_before).await?;
    removed += store
        .trim_idempotency_keys(now.saturating_sub(limits::RETAIN_RESPONSES))
        .await?;
    removed += store
        .trim_sign_ins(now.saturating_sub(limits::RETAIN_SIGN_INS))
        .await?;
    let receipts_before = now.saturating_sub(limits::RETAIN_WEBHOOK_IDS);
    removed += store.trim_receipts(receipts_before).await?;
    let deliveries_before = now.saturating_sub(limits::RETAIN_DELIVERIES);
    removed += store.trim_deliveries(deliveries_before).await?;
    let spending_before = now.saturating_sub(limits::RETAIN_USAGE);
    removed += store.trim_usage(spending_before).await?;
    removed += store.delete_expired_automations(now).await?;
    removed += store.trim_memory_entries(now).await?;
    // 2. Remove the rows whose ages are settings.
    if let Some(age) = host.settings.retain_records {
        removed += store.trim_records(now.saturating_sub(age)).await?;
    }
    if let Some(age) = host.settings.retain_events {
        removed += store.trim_automation_logs(now.saturating_sub(age)).await?;
    }
    // Each call above removes a limited number of rows, so a full sweep ends with a tick that removes none.
    let mut more = removed > 0;
    // 3. Trim the logs of the next sessions. Sessions are visited in order, because one query over all logs would hold
    // its locks for long.
    if let Some(age) = host.settings.retain_events {
        let before = now.saturating_sub(age);
        let trimmed = store.trim_logs(before, round.last_trimmed_session).await?;
        removed += u64::from(trimmed.events);
        more |= trimmed.has_more;
        // Start again with the first session once the last one is reached.
        round.last_trimmed_session = trimmed.after.filter(|_| trimmed.has_more);
    }
    // 4. Choose the next tick.
    round.removed += removed;
    if more {
        return Ok(now + limits::HOUSEKEEPING_PAUSE);
    }
    // Remove contents at the end of a round, when the rows that referred to them are removed.
    sweep_contents(host, now).await?;
    let removed = std::mem::take(&mut round.removed);
    if removed > 0 {
        tracing::info!(removed, "removed {removed} old rows");
    }
    Ok(now + limits::HOUSEKEEPING_INTERVAL)
}

/// The housekeeping loop of one server.
pub(crate) struct Housekeeper {
    pub(crate) host: Host,
    pub(crate) progress: TrimProgress,
}

impl LoopBody for Housekeeper {
    const NAME: &'static str = "housekeeping";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        tick(&self.host, &mut self.progress, now).await.map(Some)
    }
}
