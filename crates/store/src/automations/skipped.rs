//! Occurrences that do not become runs: their rows, with the reason, and their events in the logs of their
//! automations.

use std::collections::HashSet;

use model::{
    InputId, RunId, Timestamp, TriggerId,
    entity::Automation,
    event::{Occurrences, RunChange, SkippedWork},
    run::{Origin, RunStatus},
    schedule::{MissedRange, Schedule},
};

use super::log::{self, AutomationLogEntry};
use crate::{
    Error,
    database::{Param, Tx},
    store::Store,
};

/// A range of instants that have passed and are not caught up.
pub(crate) struct MissedInstants<'a> {
    pub(crate) automation: &'a Automation,
    pub(crate) trigger: TriggerId,
    pub(crate) schedule: &'a Schedule,
    pub(crate) range: MissedRange,
    pub(crate) reason: &'a str,
}

/// Inserts one row for each range of missed instants. Omits instants at the beginning of a range that have a row
/// already. The caller must hold the locks of the automations.
pub(crate) async fn insert_missed(
    store: &Store,
    tx: &mut Tx,
    missed: Vec<MissedInstants<'_>>,
    now: Timestamp,
) -> Result<(), Error> {
    let mut remaining = missed;
    while !remaining.is_empty() {
        // 1. Read which instants have a row already.
        let firsts = remaining
            .iter()
            .map(|instants| (instants.trigger, instants.range.first));
        let existing = existing_occurrences(tx, firsts).await?;
        // 2. Decide which ranges can be inserted.
        let mut rows = Vec::with_capacity(remaining.len());
        let mut entries = Vec::with_capacity(remaining.len());
        let mut later = Vec::new();
        for mut instants in remaining {
            // After the clock was set back, an instant comes again, and a second row for it would violate the unique
            // index. Move the beginning of the range to the next instant, and check that instant in the next round.
            if existing.contains(&(instants.trigger, instants.range.first)) {
                instants.range.count -= 1;
                if let Some(next) = instants.schedule.next_after(instants.range.first)
                    && instants.range.count > 0
                {
                    instants.range.first = next;
                    later.push(instants);
                }
                continue;
            }
            let skipped = SkippedOccurrences {
                input: InputId::generate(now, store.ids()),
                id: RunId::generate(now, store.ids()),
                automation: instants.automation,
                trigger: instants.trigger,
                range: instants.range,
                status: RunStatus::Missed,
                reason: instants.reason,
            };
            rows.push(skipped.insert_params(now));
            entries.push(skipped.log_entry());
        }
        // 3. Write the ranges, and continue with those whose beginning has moved.
        tx.execute_rows(sql!("runs/insert_skipped"), rows, params![])
            .await?;
        log::write_entries(tx, entries, now).await?;
        remaining = later;
    }
    Ok(())
}

/// Returns those of `instants` that have a row already.
pub(crate) async fn existing_occurrences(
    tx: &mut Tx,
    instants: impl Iterator<Item = (TriggerId, Timestamp)>,
) -> Result<HashSet<(TriggerId, Timestamp)>, Error> {
    let rows = instants.map(|(trigger, instant)| params![trigger, instant]);
    let found = tx
        .fetch_rows(sql!("runs/existing_occurrences"), rows.collect(), params![])
        .await?;
    found
        .iter()
        .map(|row| Ok((row.get("trigger_id")?, row.get("scheduled_for")?)))
        .collect()
}

/// An occurrence, or a range of occurrences, that does not become a run.
pub(crate) struct SkippedOccurrences<'a> {
    pub(crate) input: InputId,
    pub(crate) id: RunId,
    pub(crate) automation: &'a Automation,
    pub(crate) trigger: TriggerId,
    pub(crate) range: MissedRange,
    pub(crate) status: RunStatus,
    pub(crate) reason: &'a str,
}

impl SkippedOccurrences<'_> {
    /// Returns the last instant of a range. Returns `None` for a single instant.
    fn missed_until(&self) -> Option<Timestamp> {
        (self.range.count > 1).then_some(self.range.last)
    }

    /// Returns the parameters of `runs/insert_skipped`.
    pub(crate) fn insert_params(&self, now: Timestamp) -> Vec<Param> {
        let count = i64::try_from(self.range.count).unwrap_or(i64::MAX);
        params! { "runs/insert_skipped";
            id: self.id,
            tenant: self.automation.tenant_id,
            input: self.input,
            status: self.status.as_str(),
            priority: Origin::Occurrence.priority(),
            automation: self.automation.id,
            trigger: self.trigger,
            instant: self.range.first,
            last_instant: self.missed_until(),
            count: count,
            content: self.automation.prompt.as_str(),
            reason: self.reason,
            now: now,
        }
    }

    /// Returns the event for the log of the automation, because such an occurrence has no session.
    pub(crate) fn log_entry(&self) -> AutomationLogEntry {
        let reason = self.reason.to_owned();
        let occurrences = Occurrences {
            trigger_id: Some(self.trigger),
            scheduled_for: Some(self.range.first),
            missed_until: self.missed_until(),
            count: self.range.count,
        };
        let change = if self.status == RunStatus::Skipped {
            let skipped = SkippedWork::Occurrences(occurrences);
            RunChange::Skipped { reason, skipped }
        } else {
            RunChange::Missed {
                reason,
                occurrences,
            }
        };
        AutomationLogEntry::of_skipped(self.automation.id, self.id, change)
    }
}
