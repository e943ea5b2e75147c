//! Removes what is old: internal records, the beginnings of logs, what ended runs left behind, and what
//! requests left behind: their answers, and sign-ins that are over.
//!
//! Transcripts and runs stay. It goes a small piece at a time, with a pause after each, so that nobody
//! who writes waits long.

use model::{SessionId, Timestamp, limits};

use crate::{Error, Host, runner::Look};

/// How far a round has come.
#[derive(Debug, Default)]
pub struct Round {
    /// The session whose log was looked at last.
    after: Option<SessionId>,
    /// How many rows it has removed.
    removed: u64,
}

/// One piece of a round. Gives when the next is wanted: soon while there is more, else in an hour. While the
/// time is not known, nothing is old.
pub async fn tick(host: &Host, round: &mut Round, now: Timestamp) -> Result<Timestamp, Error> {
    if !host.knows_the_time() {
        return Ok(now + limits::TICK);
    }
    let store = &host.store;
    let leftovers_before = now.saturating_sub(limits::LEFTOVERS);
    let mut removed = store.trim_leftovers(leftovers_before).await?;
    removed += store
        .trim_answers(now.saturating_sub(limits::RETAIN_ANSWERS))
        .await?;
    removed += store
        .trim_sign_ins(now.saturating_sub(limits::RETAIN_SIGN_INS))
        .await?;
    let receipts_before = now.saturating_sub(limits::WEBHOOK_RECEIPTS);
    removed += store.trim_receipts(receipts_before).await?;
    let deliveries_before = now.saturating_sub(limits::DELIVERY_LOG);
    removed += store.trim_deliveries(deliveries_before).await?;
    let spending_before = now.saturating_sub(limits::RETAIN_SPENDING);
    removed += store.trim_spending(spending_before).await?;
    if let Some(age) = host.settings.retain_records {
        removed += store.trim_records(now.saturating_sub(age)).await?;
    }
    if let Some(age) = host.settings.retain_events {
        removed += store.trim_automation_logs(now.saturating_sub(age)).await?;
    }
    let mut more = removed > 0;
    if let Some(age) = host.settings.retain_events {
        let before = now.saturating_sub(age);
        let trimmed = store.trim_logs(before, round.after).await?;
        removed += u64::from(trimmed.events);
        more |= trimmed.more;
        // Whoever has come to the end begins anew.
        round.after = trimmed.after.filter(|_| trimmed.more);
    }
    round.removed += removed;
    if more {
        return Ok(now + limits::HOUSEKEEPING_PAUSE);
    }
    let removed = std::mem::take(&mut round.removed);
    if removed > 0 {
        tracing::info!(removed, "removed {removed} rows that were old");
    }
    Ok(now + limits::HOUSEKEEPING)
}

/// The housekeeper of one server.
pub(crate) struct Housekeeper {
    pub(crate) host: Host,
    pub(crate) round: Round,
}

impl Look for Housekeeper {
    const NAME: &'static str = "housekeeping";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        tick(&self.host, &mut self.round, now).await.map(Some)
    }
}
