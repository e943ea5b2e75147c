//! Queries for automations and their triggers.

use std::collections::BTreeSet;

use model::{
    AutomationId, SessionId, TenantId,
    automation::AutomationState,
    entity::{Automation, Trigger},
};

use crate::{
    Error, Page, Scope, boxed,
    database::{Param, Row, Statement, Tx},
    rows,
    store::Store,
    text_search::SearchPatterns,
};

/// A list of automations. Those with a corrupt row are listed apart, so that one of them does not hide the others.
#[derive(Debug, Default)]
pub struct Automations {
    /// The automations that can be read.
    pub readable: Vec<Automation>,
    /// The automations with a corrupt row.
    pub corrupt: Vec<CorruptAutomation>,
}

/// An automation whose row is corrupt.
#[derive(Debug)]
pub struct CorruptAutomation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// The error that names the corrupt value.
    pub error: Error,
}

/// The filters and the page of a list of automations.
#[derive(Debug, Clone, Default)]
pub struct AutomationFilter {
    /// The accepted state. `None` accepts all automations that are not deleted.
    pub state: Option<AutomationState>,
    /// A text that the name contains. The case of letters does not matter.
    pub text: Option<String>,
    /// The session in which the automations run their turns.
    pub session: Option<SessionSelector>,
}

/// A session in which automations run their turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSelector {
    /// The ID of the session, which may be the current session of an automation.
    pub session: SessionId,
    /// The key of the session, to which automations may be bound.
    pub key: Option<String>,
    /// A second key. Automations that are bound to it are listed too.
    pub other_key: Option<String>,
}

impl Store {
    /// Reads one automation.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the automation does not exist in `scope` or is deleted.
    #[boxed]
    pub async fn automation(&self, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read(&mut tx, scope, id).await
    }

    /// Reads the automation with a name. Returns `None` if no automation has the name.
    #[boxed]
    pub async fn automation_by_name(
        &self,
        tenant: TenantId,
        name: &str,
    ) -> Result<Option<Automation>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let statement = sql!("automations/by_name");
        fetch_automation(&mut tx, statement, params![tenant, name]).await
    }

    /// Lists automations, ordered by name.
    #[boxed]
    pub async fn automations(&self, scope: Scope) -> Result<Automations, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("automations/list"), params![scope.tenant()])
            .await?;
        separate_corrupt(&found)
    }

    /// Lists the automations of people that are bound to the session with `key`.
    #[boxed]
    pub async fn automations_bound_to(
        &self,
        tenant: TenantId,
        key: &str,
    ) -> Result<Automations, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        bound_to(&mut tx, tenant, key).await
    }

    /// Lists the triggers of an automation, the manual one first. Omits removed triggers and triggers that need a
    /// later format.
    #[boxed]
    pub async fn triggers(&self, scope: Scope, id: AutomationId) -> Result<Vec<Trigger>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read(&mut tx, scope, id).await?;
        let statement = sql!("triggers/live_of_automation");
        supported_triggers(&tx.fetch_all(statement, params![id]).await?)
    }
}

/// Reads one page of a tenant's automations, the newest first. The next page begins below the lowest ID of this page,
/// whether the automation with that ID can be read or not.
pub(super) async fn read_page(
    tx: &mut Tx,
    tenant: TenantId,
    filter: &AutomationFilter,
    page: Page<AutomationId>,
) -> Result<Automations, Error> {
    let patterns = SearchPatterns::new(filter.text.as_deref(), AutomationId::PREFIX);
    let session = filter.session.as_ref();
    let found = tx
        .fetch_all(
            sql!("automations/page"),
            params! { "automations/page";
                tenant: tenant,
                before: page.before(),
                state: filter.state.map(AutomationState::as_str),
                lower_pattern: patterns.lower.as_deref(),
                pattern: patterns.as_written.as_deref(),
                session: session.map(|session| session.session),
                key: session.and_then(|session| session.key.as_deref()),
                other_key: session.and_then(|session| session.other_key.as_deref()),
                limit: page.limit,
            },
        )
        .await?;
    separate_corrupt(&found)
}

/// Reads the automations of a tenant among `ids` that are not deleted, in any order.
pub(super) async fn read_by_ids(
    tx: &mut Tx,
    tenant: TenantId,
    ids: &[AutomationId],
) -> Result<Automations, Error> {
    if ids.is_empty() {
        return Ok(Automations::default());
    }
    let keys: BTreeSet<_> = ids.iter().map(|id| id.uuid()).collect();
    let keys = keys.into_iter().collect();
    let found = tx.fetch_by_keys(sql!("automations/by_ids"), keys, params![tenant]);
    separate_corrupt(&found.await?)
}

/// Reads an automation that is not deleted.
pub(crate) async fn read(tx: &mut Tx, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
    let found =
        fetch_automation(tx, sql!("automations/by_id"), params![scope.tenant(), id]).await?;
    found
        .filter(|automation| automation.state != AutomationState::Deleted)
        .ok_or_else(|| Error::not_found("automation", id))
}

async fn fetch_automation(
    tx: &mut Tx,
    statement: &'static Statement,
    params: Vec<Param>,
) -> Result<Option<Automation>, Error> {
    let row = tx.fetch_optional(statement, params).await?;
    row.as_ref().map(rows::automation).transpose()
}

/// Lists the automations of people that are bound to a key.
pub(crate) async fn bound_to(
    tx: &mut Tx,
    tenant: TenantId,
    key: &str,
) -> Result<Automations, Error> {
    let found = tx
        .fetch_all(sql!("automations/bound_to"), params![tenant, key])
        .await?;
    separate_corrupt(&found)
}

/// Reads automations, and separates those with a corrupt row.
fn separate_corrupt(found: &[Row]) -> Result<Automations, Error> {
    let mut automations = Automations::default();
    for row in found {
        match rows::automation(row) {
            Ok(automation) => automations.readable.push(automation),
            Err(error) if error.is_corrupt() => automations.corrupt.push(CorruptAutomation {
                id: row.get("id")?,
                name: row.get("name")?,
                error,
            }),
            Err(error) => return Err(error),
        }
    }
    Ok(automations)
}

/// Lists all triggers that an automation has or had, because runs still refer to removed ones.
pub(crate) async fn all_triggers(tx: &mut Tx, id: AutomationId) -> Result<Vec<Trigger>, Error> {
    let found = tx
        .fetch_all(sql!("triggers/of_automation"), params![id])
        .await?;
    parse_triggers(&found)
}

/// Lists the triggers of an automation that are not removed, the manual one first.
pub(crate) async fn live_triggers(tx: &mut Tx, id: AutomationId) -> Result<Vec<Trigger>, Error> {
    let found = tx
        .fetch_all(sql!("triggers/live_of_automation"), params![id])
        .await?;
    parse_triggers(&found)
}

/// Reads the triggers that this version supports. `Automation::needs_format` tells a reader whether others exist.
fn supported_triggers(found: &[Row]) -> Result<Vec<Trigger>, Error> {
    let read = found.iter().map(rows::trigger);
    read.filter(|read| !matches!(read, Err(error) if error.is_newer_format()))
        .collect()
}

fn parse_triggers(found: &[Row]) -> Result<Vec<Trigger>, Error> {
    found.iter().map(rows::trigger).collect()
}
