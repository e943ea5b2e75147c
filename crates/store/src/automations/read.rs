//! Reading automations.

use model::{
    AutomationId, SessionId, TenantId,
    automation::AutomationState,
    entity::{Automation, Trigger},
};

use crate::{
    Error, Page, Scope,
    database::{Param, Row, Statement, Tx},
    rows,
    store::Store,
    text::Wanted,
};

/// Automations by name, with those apart whose rows cannot be read, because they are corrupt.
#[derive(Debug, Default)]
pub struct Automations {
    /// Those that can be read.
    pub readable: Vec<Automation>,
    /// Those that cannot.
    pub unreadable: Vec<Unreadable>,
}

/// An automation whose row makes no sense.
#[derive(Debug)]
pub struct Unreadable {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// What makes no sense.
    pub error: Error,
}

/// The filters and the page of a list of automations.
#[derive(Debug, Clone, Default)]
pub struct AutomationFilter {
    /// Those in a state; none named: those that are not removed.
    pub state: Option<AutomationState>,
    /// Those with a text in their name, whatever the case of its letters.
    pub text: Option<String>,
    /// Those whose turns go to a session.
    pub session: Option<InSession>,
}

/// A session to which turns go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSession {
    /// Its id: it may be an automation's own.
    pub session: SessionId,
    /// Its key: automations may be bound to it.
    pub key: Option<String>,
    /// Another key: what is bound to that is listed as well.
    pub other_key: Option<String>,
}

impl Store {
    /// Reads one automation. Removed ones are not found.
    pub async fn automation(&self, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
        let mut tx = self.db.read(scope).await?;
        read(&mut tx, scope, id).await
    }

    /// Reads the automation of a name, if there is one.
    pub async fn automation_by_name(
        &self,
        tenant: TenantId,
        name: &str,
    ) -> Result<Option<Automation>, Error> {
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let statement = sql!("automations/by_name");
        one(&mut tx, statement, params![tenant, name]).await
    }

    /// Lists automations by name.
    pub async fn automations(&self, scope: Scope) -> Result<Automations, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("automations/list"), params![scope.tenant()])
            .await?;
        all_of(&found)
    }

    /// Lists a tenant's automations, the newest first. The next page comes after the lowest id of this
    /// one, be it of an automation that can be read or not.
    pub async fn automation_page(
        &self,
        tenant: TenantId,
        filter: &AutomationFilter,
        page: Page<AutomationId>,
    ) -> Result<Automations, Error> {
        let wanted = Wanted::new(filter.text.as_deref(), AutomationId::PREFIX);
        let session = filter.session.as_ref();
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("automations/page"),
                params! { "automations/page";
                    tenant: tenant,
                    before: page.before(),
                    state: filter.state.map(AutomationState::as_str),
                    lower_pattern: wanted.lower.as_deref(),
                    pattern: wanted.written.as_deref(),
                    session: session.map(|session| session.session),
                    key: session.and_then(|session| session.key.as_deref()),
                    other_key: session.and_then(|session| session.other_key.as_deref()),
                    limit: page.limit,
                },
            )
            .await?;
        all_of(&found)
    }

    /// Lists the automations of people that are bound to the session of `key`.
    pub async fn automations_bound_to(
        &self,
        tenant: TenantId,
        key: &str,
    ) -> Result<Automations, Error> {
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        bound_to(&mut tx, tenant, key).await
    }

    /// Lists an automation's triggers, the manual one first. Removed ones are left out, and so are those that need a
    /// later format.
    pub async fn triggers(&self, scope: Scope, id: AutomationId) -> Result<Vec<Trigger>, Error> {
        let mut tx = self.db.read(scope).await?;
        read(&mut tx, scope, id).await?;
        let statement = sql!("triggers/live_of_automation");
        shown_triggers(&tx.fetch_all(statement, params![id]).await?)
    }
}

/// Reads an automation that is not removed.
pub(super) async fn read(tx: &mut Tx, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
    let found = one(tx, sql!("automations/by_id"), params![scope.tenant(), id]).await?;
    found
        .filter(|automation| automation.state != AutomationState::Deleted)
        .ok_or_else(|| Error::not_found("automation", id))
}

async fn one(
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
    all_of(&found)
}

/// Reads automations, those that make no sense apart.
fn all_of(found: &[Row]) -> Result<Automations, Error> {
    let mut automations = Automations::default();
    for row in found {
        match rows::automation(row) {
            Ok(automation) => automations.readable.push(automation),
            Err(error) if error.is_nonsense() => automations.unreadable.push(Unreadable {
                id: row.get("id")?,
                name: row.get("name")?,
                error,
            }),
            Err(error) => return Err(error),
        }
    }
    Ok(automations)
}

/// All triggers that an automation ever had: runs still name those that were removed.
pub(crate) async fn triggers(tx: &mut Tx, id: AutomationId) -> Result<Vec<Trigger>, Error> {
    let found = tx
        .fetch_all(sql!("triggers/of_automation"), params![id])
        .await?;
    as_triggers(&found)
}

/// The triggers that an automation has, the manual one first.
pub(crate) async fn live_triggers(tx: &mut Tx, id: AutomationId) -> Result<Vec<Trigger>, Error> {
    let found = tx
        .fetch_all(sql!("triggers/live_of_automation"), params![id])
        .await?;
    as_triggers(&found)
}

/// Reads the triggers that this program can show. `Automation::needs_format` tells of the others.
fn shown_triggers(found: &[Row]) -> Result<Vec<Trigger>, Error> {
    let read = found.iter().map(rows::trigger);
    read.filter(|read| !matches!(read, Err(error) if error.is_newer_format()))
        .collect()
}

fn as_triggers(found: &[Row]) -> Result<Vec<Trigger>, Error> {
    found.iter().map(rows::trigger).collect()
}
