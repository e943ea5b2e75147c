//! The list of automations: what people need to know of each, read by a few statements for a whole page.

use std::collections::HashMap;

use model::{
    AutomationId, RunId, SessionId, TenantId, Timestamp,
    entity::{Automation, Trigger},
    run::RunStatus,
};

use super::read::{AutomationFilter, Automations, CorruptAutomation, read_by_ids, read_page};
use crate::{
    Error, Page, Scope, boxed,
    database::{Row, Tx},
    rows,
    store::Store,
};

/// A page of the list of automations.
#[derive(Debug, Default)]
pub struct AutomationItems {
    /// The automations that can be read.
    pub readable: Vec<AutomationItem>,
    /// The automations with a corrupt row or a corrupt trigger.
    pub corrupt: Vec<CorruptAutomation>,
}

/// An automation of a list.
#[derive(Debug)]
pub struct AutomationItem {
    /// The automation.
    pub automation: Automation,
    /// The name of its agent.
    pub agent: String,
    /// The session in which its next turn runs. `None` if that session does not exist yet.
    pub session: Option<SessionId>,
    /// Its triggers, the manual one first. Omits triggers that need a later format.
    pub triggers: Vec<Trigger>,
    /// Its newest runs, the newest first: the last attempt at each input.
    pub outcomes: Vec<RunOutcome>,
    /// The name of the instance on which its turns are placed, if that instance was removed.
    pub removed_instance: Option<String>,
}

/// The outcome of an input so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// The last attempt at the input.
    pub run: RunId,
    /// The status of the attempt.
    pub status: RunStatus,
    /// The reason for its end, in one word.
    pub reason: Option<String>,
    /// A short text about the reason, for people.
    pub message: Option<String>,
    /// The number of due instants that the run stands for.
    pub occurrences: i64,
    /// The due instant, or the instant at which the input arrived.
    pub at: Timestamp,
    /// The instant at which the turn began.
    pub started_at: Option<Timestamp>,
    /// The instant at which the run ended.
    pub ended_at: Option<Timestamp>,
}

impl Store {
    /// Lists one page of a tenant's automations, the newest first, each with up to `outcomes` of its newest runs. Reads
    /// all of them in one transaction, with as many statements for a page of 500 as for a page of one.
    #[boxed]
    pub async fn automation_items(
        &self,
        tenant: TenantId,
        filter: &AutomationFilter,
        page: Page<AutomationId>,
        outcomes: u32,
    ) -> Result<AutomationItems, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let found = read_page(&mut tx, tenant, filter, page).await?;
        items(&mut tx, found, outcomes).await
    }

    /// Reads the automations of a tenant among `ids`, in that order, each with up to `outcomes` of its newest runs.
    /// Omits deleted ones.
    #[boxed]
    pub async fn automation_items_by_id(
        &self,
        tenant: TenantId,
        ids: &[AutomationId],
        outcomes: u32,
    ) -> Result<AutomationItems, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        items_by_id(&mut tx, tenant, ids, outcomes).await
    }
}

/// Reads the automations of a tenant among `ids`, in that order.
pub(crate) async fn items_by_id(
    tx: &mut Tx,
    tenant: TenantId,
    ids: &[AutomationId],
    outcomes: u32,
) -> Result<AutomationItems, Error> {
    let mut found = read_by_ids(tx, tenant, ids).await?;
    let position = |id| ids.iter().position(|other| *other == id);
    found
        .readable
        .sort_by_key(|automation| position(automation.id));
    items(tx, found, outcomes).await
}

/// Reads what people need to know of automations, in their order.
async fn items(tx: &mut Tx, found: Automations, outcomes: u32) -> Result<AutomationItems, Error> {
    let mut items = AutomationItems {
        readable: Vec::with_capacity(found.readable.len()),
        corrupt: found.corrupt,
    };
    let ids: Vec<_> = found.readable.iter().map(|it| it.id).collect();
    if ids.is_empty() {
        return Ok(items);
    }
    let mut names = names(tx, &ids).await?;
    let mut triggers = triggers(tx, &ids).await?;
    let mut last = last_outcomes(tx, &ids, outcomes).await?;
    for automation in found.readable {
        // The statement joins tables whose foreign keys exist, so that only a deleted row has no names.
        let Some(Names {
            agent,
            session,
            removed_instance,
        }) = names.remove(&automation.id)
        else {
            continue;
        };
        match triggers.remove(&automation.id).unwrap_or(Ok(Vec::new())) {
            Ok(triggers) => items.readable.push(AutomationItem {
                agent,
                session,
                triggers,
                outcomes: last.remove(&automation.id).unwrap_or_default(),
                removed_instance,
                automation,
            }),
            Err(error) => items.corrupt.push(CorruptAutomation {
                id: automation.id,
                name: automation.name,
                error,
            }),
        }
    }
    Ok(items)
}

/// The names of an automation's surroundings.
struct Names {
    agent: String,
    session: Option<SessionId>,
    removed_instance: Option<String>,
}

async fn names(tx: &mut Tx, ids: &[AutomationId]) -> Result<HashMap<AutomationId, Names>, Error> {
    let keys = ids.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(sql!("automations/names"), keys, params![]);
    let mut names = HashMap::new();
    for row in found.await? {
        let found = Names {
            agent: row.get("agent")?,
            session: row.optional("session_id")?,
            removed_instance: row.optional("removed_instance")?,
        };
        names.insert(row.get("id")?, found);
    }
    Ok(names)
}

/// Reads the triggers of automations. An automation with a corrupt trigger has the error in place of its triggers.
async fn triggers(
    tx: &mut Tx,
    ids: &[AutomationId],
) -> Result<HashMap<AutomationId, Result<Vec<Trigger>, Error>>, Error> {
    let keys = ids.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(sql!("triggers/live_of_automations"), keys, params![]);
    let mut triggers = HashMap::new();
    for row in found.await? {
        let id: AutomationId = row.get("automation_id")?;
        let of_automation = triggers.entry(id).or_insert_with(|| Ok(Vec::new()));
        match (rows::trigger(&row), of_automation) {
            (Ok(trigger), Ok(read)) => read.push(trigger),
            (Err(error), _) if error.is_newer_format() => {}
            (Err(error), read) if error.is_corrupt() => *read = Err(error),
            (Err(error), _) => return Err(error),
            (Ok(_), Err(_)) => {}
        }
    }
    Ok(triggers)
}

async fn last_outcomes(
    tx: &mut Tx,
    ids: &[AutomationId],
    limit: u32,
) -> Result<HashMap<AutomationId, Vec<RunOutcome>>, Error> {
    let mut outcomes: HashMap<_, Vec<_>> = HashMap::new();
    if limit == 0 {
        return Ok(outcomes);
    }
    let keys = ids.iter().map(|id| id.uuid()).collect();
    let found = tx.fetch_by_keys(
        sql_of_each!("runs/last_of_automations"),
        keys,
        params![limit],
    );
    for row in found.await? {
        let id = row.get("automation_id")?;
        outcomes.entry(id).or_default().push(read_outcome(&row)?);
    }
    Ok(outcomes)
}

/// Reads the outcome of an input from the row of its last attempt.
pub(crate) fn read_outcome(row: &Row) -> Result<RunOutcome, Error> {
    let due: Option<Timestamp> = row.optional("scheduled_for")?;
    Ok(RunOutcome {
        run: row.get("id")?,
        status: row.parse("status")?,
        reason: row.optional("reason")?,
        message: row.optional("message")?,
        occurrences: row.get("occurrences")?,
        at: match due {
            Some(due) => due,
            None => row.get("input_at")?,
        },
        started_at: row.optional("started_at")?,
        ended_at: row.optional("ended_at")?,
    })
}
