//! The log of an automation: its changes, and its occurrences that have no session.
//!
//! **Invariant:** the writer holds the lock of the automation's row, so that the numbers follow the order of commits
//! without a gap.

use std::collections::{BTreeMap, HashMap};

use model::{
    AutomationId, RunId, TenantId, Timestamp,
    event::{AutomationChange, Change, RunChange},
};

use crate::{Error, changes::note_change, database::Tx, stored::events::StoredEvent};

/// One event of the log of an automation.
pub(crate) struct AutomationLogEntry {
    automation: AutomationId,
    change: Change,
}

impl AutomationLogEntry {
    /// Returns the event of a change of the automation.
    pub(crate) fn of_change(automation: AutomationId, change: AutomationChange) -> Self {
        let automation_id = automation;
        Self {
            automation,
            change: Change::Automation {
                automation_id,
                change,
            },
        }
    }

    /// Returns the event of an occurrence that has no session, because it did not become a run.
    pub(crate) fn of_skipped(automation: AutomationId, run_id: RunId, change: RunChange) -> Self {
        Self {
            automation,
            change: Change::Run { run_id, change },
        }
    }
}

/// Writes one change to the log of an automation. The caller must hold the lock of the automation.
pub(crate) async fn write_change(
    tx: &mut Tx,
    automation: AutomationId,
    change: AutomationChange,
    now: Timestamp,
) -> Result<(), Error> {
    write_entries(
        tx,
        vec![AutomationLogEntry::of_change(automation, change)],
        now,
    )
    .await
}

/// Numbers events and writes them. The caller must hold the locks of the automations.
pub(crate) async fn write_entries(
    tx: &mut Tx,
    entries: Vec<AutomationLogEntry>,
    now: Timestamp,
) -> Result<(), Error> {
    if entries.is_empty() {
        return Ok(());
    }
    // 1. Take the numbers of each log at once.
    let mut counts: BTreeMap<AutomationId, i64> = BTreeMap::new();
    for entry in &entries {
        *counts.entry(entry.automation).or_default() += 1;
    }
    let items = counts.iter().map(|(id, count)| params![*id, *count]);
    let numbered = tx
        .fetch_rows(sql!("automations/next_seq"), items.collect(), params![])
        .await?;
    let mut next: HashMap<AutomationId, (i64, TenantId)> = HashMap::new();
    for row in &numbered {
        let id: AutomationId = row.get("id")?;
        let last: i64 = row.get("last_seq")?;
        let count = counts.get(&id).copied().unwrap_or(0);
        // `last_seq` is the last of the taken numbers. Begin before the first of them.
        next.insert(id, (last - count, row.get("tenant_id")?));
    }
    // 2. Number the events of each log in the order of `entries`.
    let mut events = Vec::with_capacity(entries.len());
    for entry in entries {
        let id = entry.automation;
        let (seq, tenant) = next
            .get_mut(&id)
            .ok_or_else(|| Error::not_found("automation", id))?;
        *seq += 1;
        let stored = StoredEvent::of(&entry.change);
        events.push(params! { "postgres/automations/insert_event";
            automation: id,
            seq: *seq,
            tenant: *tenant,
            kind: stored.kind,
            ref: stored.about,
            body: stored.body,
            now: now,
        });
        note_change(tx, id.uuid()).await?;
    }
    // 3. Write the events.
    tx.execute_rows(sql_of_each!("automations/insert_event"), events, params![])
        .await?;
    Ok(())
}
