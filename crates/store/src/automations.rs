//! Automations and their triggers.

mod attention;
mod edit;
pub(crate) mod log;
mod read;
mod schedule;
mod stopping;
mod triggers;

use model::{
    AutomationId, HarnessId, TenantId, Timestamp, TriggerId,
    automation::{AutomationEvent, AutomationState},
    entity::{Automation, SeatSettings},
    event::AutomationChange,
    lifecycle::Lifecycle,
    occurrence,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::Spec,
};

use crate::{
    Error, Scope,
    database::Tx,
    locks::{lock_automation, lock_triggers},
    runs::spend,
    store::Store,
    stored::{self, StoredPermissions, StoredPolicies, StoredSettings, StoredSpec, Written},
};

pub(crate) use attention::ask_for_attention;
use attention::set_attention;
pub use edit::AutomationEdit;
use read::read;
pub use read::{AutomationFilter, Automations, InSession, Unreadable};
pub(crate) use read::{bound_to, live_triggers, triggers};
pub(crate) use schedule::schedule;
pub(crate) use stopping::{
    count_failures, delete, give_up_on, pause, settle_stopped, stop_triggers,
};
use stopping::{delete_unreadable, settle, stopped_at};
pub use triggers::NewTrigger;

/// What a person says of an automation: one to be made, or what one is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAutomation {
    /// The name of the endpoint, unique within the tenant.
    pub name: String,
    /// The prompt.
    pub prompt: String,
    /// The harness that starts the agent.
    pub harness: HarnessId,
    /// The working directory of its sessions, absolute; absent: a folder of each session's own.
    pub cwd: Option<String>,
    /// The session that receives each run's turn.
    pub session_mode: SessionMode,
    /// The key of the session that it is bound to, for `bound` only.
    pub bound_session_key: Option<String>,
    /// The policies.
    pub policies: Policies,
    /// The mode and the settings of the seats in its sessions.
    pub settings: SeatSettings,
    /// The rules that answer permission requests, in addition to the harness's rules.
    pub permissions: PermissionRules,
    /// Its triggers, the manual one left out: every automation has that.
    pub triggers: Vec<Spec>,
}

impl Store {
    /// Creates an automation, enabled, with its triggers and the manual one, and returns its ID. The caller may reserve
    /// that ID, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Made`] if an automation with the reserved ID exists or was deleted.
    pub async fn create_automation(
        &self,
        tenant: TenantId,
        reserved: Option<AutomationId>,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<AutomationId, Error> {
        let id = reserved.unwrap_or_else(|| AutomationId::generate(now, self.ids()));
        let made = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move {
                    let used = tx
                        .fetch_optional(sql!("automations/by_id"), params![tenant, id])
                        .await?;
                    if used.is_some() {
                        return Err(Error::made("the automation", id));
                    }
                    let policies = stored::write::<StoredPolicies>(&new.policies);
                    let settings = stored::write::<StoredSettings>(&new.settings);
                    let permissions = stored::write::<StoredPermissions>(&new.permissions);
                    let documents = [&policies, &settings, &permissions];
                    let needs_format = needs_format(documents, &new.triggers);
                    tx.execute(
                        sql!("automations/insert"),
                        params! { "automations/insert";
                            id: id,
                            tenant: tenant,
                            name: new.name.as_str(),
                            prompt: new.prompt.as_str(),
                            harness: new.harness,
                            cwd: new.cwd.as_deref(),
                            session_mode: new.session_mode.as_str(),
                            bound_key: new.bound_session_key.as_deref(),
                            policies: &policies.value,
                            settings: &settings.value,
                            permissions: &permissions.value,
                            now: now,
                            format: stored::FORMAT,
                            needs_format: needs_format,
                        },
                    )
                    .await?;
                    for spec in std::iter::once(&Spec::Manual {}).chain(&new.triggers) {
                        let due = Some(&new.policies);
                        self.insert_trigger(tx, tenant, id, (None, spec), due, now)
                            .await?;
                    }
                    let name = new.name.clone();
                    log::change(tx, id, AutomationChange::Created { name }, now).await?;
                    Ok(id)
                })
            })
            .await;
        if let Err(Error::Database(error)) = &made
            && error.conflict().is_some()
        {
            // Somebody may have made it at the same time, with this id and so with this name.
            let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
            let used = tx
                .fetch_optional(sql!("automations/by_id"), params![tenant, id])
                .await?;
            if used.is_some() {
                return Err(Error::made("the automation", id));
            }
        }
        made.map_err(|error| name_is_taken(error, &new.name))
    }

    /// Holds an automation. Instants until it is resumed are not due.
    pub async fn pause_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let automation = lock_of_any_format(tx, scope, id).await?;
                automation.state.apply(AutomationEvent::Pause)?;
                pause(self, tx, &automation, reason, now).await
            })
        })
        .await
    }

    /// Lets an automation go on. Its triggers are due from now, its row of failures is forgotten and
    /// what a person should look at counts as seen. Its runs that wait because of a budget look at it anew.
    pub async fn resume_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let automation = lock_with_triggers(tx, scope, id).await?;
                automation.state.apply(AutomationEvent::Resume)?;
                // A server that does not honour the automation may have paused it.
                settle_stopped(self, tx, &automation, now).await?;
                let none: Option<&str> = None;
                let never: Option<Timestamp> = None;
                tx.execute(
                    sql!("automations/set_paused"),
                    params![id, never, none, now],
                )
                .await?;
                set_attention(tx, id, None, now).await?;
                tx.execute(sql!("automations/set_failures"), params![id, 0_i64, now])
                    .await?;
                for trigger in live_triggers(tx, id).await? {
                    // From now, though the clock may have been ahead and set back: an instant that has its
                    // row gets no second one, and all others are due.
                    let due = next_due(trigger.id, &trigger.spec, &automation.policies, now)?;
                    set_next(tx, trigger.id, due, now).await?;
                }
                spend::release(tx, automation.tenant_id, Some(id), now).await?;
                log::change(tx, id, AutomationChange::Resumed, now).await
            })
        })
        .await
    }

    /// Lets go of an automation's current session: the next run starts another one, and the old one
    /// stays in its history.
    pub async fn reset_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let automation = lock(tx, scope, id).await?;
                automation.state.apply(AutomationEvent::Reset)?;
                let none: Option<model::SessionId> = None;
                tx.execute(
                    sql!("automations/set_current_session"),
                    params![id, none, now],
                )
                .await?;
                let session_id = automation.current_session_id;
                log::change(tx, id, AutomationChange::Reset { session_id }, now).await
            })
        })
        .await
    }

    /// Removes an automation. Its sessions and its runs stay; those of its runs that wait are called
    /// off, and one that executes goes on to its end. One whose row makes no sense goes as well; what it
    /// owes cannot be worked out then.
    pub async fn delete_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                match lock_of_any_format(tx, scope, id).await {
                    Ok(automation) => {
                        automation.state.apply(AutomationEvent::Delete)?;
                        delete(self, tx, &automation, now).await?;
                    }
                    Err(error) if error.is_nonsense() => delete_unreadable(tx, id, now).await?,
                    Err(error) => return Err(error),
                }
                crate::runs::cancel::waiting_of(self, tx, id, "automation deleted", now).await
            })
        })
        .await
    }
}

/// Locks an automation that is not removed.
pub(crate) async fn lock(tx: &mut Tx, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
    // The tenant is checked by the first read; the second one locks what it found.
    read(tx, scope, id).await?;
    let locked = not_deleted(lock_automation(tx, id).await?)?;
    stored::require_honoured("automation", &locked.name, locked.needs_format)?;
    Ok(locked)
}

fn not_deleted(automation: Automation) -> Result<Automation, Error> {
    if automation.state == AutomationState::Deleted {
        return Err(Error::not_found("automation", automation.id));
    }
    Ok(automation)
}

/// Locks an automation that is not removed, and its triggers before it, for a transition that every server may make.
async fn lock_of_any_format(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
) -> Result<Automation, Error> {
    let found = tx
        .fetch_optional(sql!("automations/by_id"), params![scope.tenant(), id])
        .await?;
    found.ok_or_else(|| Error::not_found("automation", id))?;
    lock_triggers(tx, id).await?;
    not_deleted(lock_automation(tx, id).await?)
}

/// Locks an automation that is not removed, and its triggers before it: for what moves both.
pub(crate) async fn lock_with_triggers(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
) -> Result<Automation, Error> {
    read(tx, scope, id).await?;
    lock_triggers(tx, id).await?;
    lock(tx, scope, id).await
}

/// Returns the least format whose servers honour an automation: all its documents, those of its triggers included.
fn needs_format(documents: [&Written; 3], triggers: &[Spec]) -> i64 {
    let triggers = triggers.iter().map(stored::needs_format_of::<StoredSpec>);
    let documents = documents.into_iter().map(|written| written.needs_format);
    documents.chain(triggers).max().unwrap_or(stored::FORMAT)
}

/// Sets when a trigger is due next.
async fn set_next(
    tx: &mut Tx,
    id: TriggerId,
    due: Option<occurrence::Due>,
    now: Timestamp,
) -> Result<(), Error> {
    let scheduled_for = due.map(|due| due.scheduled_for);
    let fire_at = due.map(|due| due.fire_at);
    tx.execute(
        sql!("triggers/set_next"),
        params![id, scheduled_for, fire_at, now],
    )
    .await?;
    Ok(())
}

/// The error for a name that another automation has.
fn name_is_taken(error: Error, name: &str) -> Error {
    match error {
        Error::Database(error) if error.conflict() == Some("automations_one_per_name") => {
            Error::Exists {
                what: "an automation",
                name: name.to_owned(),
            }
        }
        error => error,
    }
}

/// When a trigger is due next, after `after`.
pub(crate) fn next_due(
    trigger: TriggerId,
    spec: &Spec,
    policies: &Policies,
    after: Timestamp,
) -> Result<Option<occurrence::Due>, Error> {
    let schedule = schedule(trigger, spec)?;
    Ok(occurrence::next_due(trigger, &schedule, policies, after))
}
