//! The log of an automation: its changes, and its occurrences that have no session.
//!
//! **Invariant:** the writer holds the lock of the automation's row, so that the numbers follow the order of commits
//! without a gap.

use std::collections::{BTreeMap, HashMap};

use model::{
    AutomationId, RunId, TenantId, Timestamp,
    event::{AutomationChange, Change, RunChange},
};

use crate::{Error, database::Tx, stored::events::StoredEvent, waking::note_change};

/// One event of the log of an automation.
pub(crate) struct Line {
    automation: AutomationId,
    change: Change,
}

impl Line {
    /// Returns the event of a change of the automation.
    pub(crate) fn change(automation: AutomationId, change: AutomationChange) -> Self {
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
    pub(crate) fn not_run(automation: AutomationId, run_id: RunId, change: RunChange) -> Self {
        Self {
            automation,
            change: Change::Run { run_id, change },
        }
    }
}

/// Writes one change to the log of an automation. The caller must hold the lock of the automation.
pub(crate) async fn change(
    tx: &mut Tx,
    automation: AutomationId,
    change: AutomationChange,
    now: Timestamp,
) -> Result<(), Error> {
    write(tx, vec![Line::change(automation, change)], now).await
}

/// Numbers events and writes them. The caller must hold the locks of the automations.
pub(crate) async fn write(tx: &mut Tx, lines: Vec<Line>, now: Timestamp) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut counts: BTreeMap<AutomationId, i64> = BTreeMap::new();
    for line in &lines {
        *counts.entry(line.automation).or_default() += 1;
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
        next.insert(id, (last - count, row.get("tenant_id")?));
    }
    let mut events = Vec::with_capacity(lines.len());
    for line in lines {
        let id = line.automation;
        let (seq, tenant) = next
            .get_mut(&id)
            .ok_or_else(|| Error::not_found("automation", id))?;
        *seq += 1;
        let stored = StoredEvent::of(&line.change);
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
    tx.execute_rows(sql_of_each!("automations/insert_event"), events, params![])
        .await?;
    Ok(())
}
