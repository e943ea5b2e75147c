//! An automation's own log: what happens to it, and what became of occurrences that have no session.
//!
//! **Invariant:** its row is locked by whoever writes, so that numbers follow commits and none is missing.

use std::collections::{BTreeMap, HashMap};

use model::{AutomationId, RunId, TenantId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Error, database::Tx};

/// One event of an automation's own log.
pub(crate) struct Line {
    automation: AutomationId,
    kind: &'static str,
    about: Uuid,
    body: Value,
}

impl Line {
    /// What happened to the automation: `change` in one word, with what is to be said of it.
    pub(crate) fn change(automation: AutomationId, change: &str, more: Value) -> Self {
        let mut body = json!({ "change": change });
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        Self {
            automation,
            kind: "automation",
            about: automation.uuid(),
            body,
        }
    }

    /// What became of an occurrence that is no run.
    pub(crate) fn not_run(automation: AutomationId, run: RunId, body: Value) -> Self {
        Self {
            automation,
            kind: "run",
            about: run.uuid(),
            body,
        }
    }
}

/// Notes one change of an automation.
pub(crate) async fn change(
    tx: &mut Tx,
    automation: AutomationId,
    change: &str,
    more: Value,
    now: Timestamp,
) -> Result<(), Error> {
    write(tx, vec![Line::change(automation, change, more)], now).await
}

/// Numbers lines and writes them. The rows of their automations are locked.
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
        events.push(params![
            id, *seq, *tenant, line.kind, line.about, line.body, now
        ]);
        tx.changes(id.uuid()).await?;
    }
    tx.execute_rows(sql_of_each!("automations/insert_event"), events, params![])
        .await?;
    Ok(())
}
