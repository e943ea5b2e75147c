//! Automations and their triggers.
//!
//! **Invariants:** a transition that changes an automation and its triggers locks the triggers first. A server
//! changes only automations whose documents it supports, except to pause or to delete them.

mod attention;
mod edit;
mod list_items;
pub(crate) mod log;
mod read;
mod schedule;
pub(crate) mod skipped;
mod sorted;
mod stopping;
mod triggers;
mod zone_rules;

use model::{
    AgentId, AutomationId, InstanceId, TenantId, Timestamp, TriggerId,
    automation::{AutomationEvent, AutomationState},
    entity::{Automation, SeatSettings},
    event::AutomationChange,
    lifecycle::Lifecycle,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::Spec,
};

use crate::{
    Error, Scope,
    agents::keep_agent,
    boxed,
    database::Tx,
    document_format::format_of_placement,
    instances::keep_instance,
    locks::{lock_automation, lock_triggers},
    store::Store,
    stored::{self, StoredDocument, StoredPermissions, StoredPolicies, StoredSettings, StoredSpec},
    usage,
};

pub(crate) use attention::request_attention;
use attention::set_attention;
pub use edit::AutomationEdit;
pub use list_items::{AutomationItem, AutomationItems, RunOutcome};
pub(crate) use list_items::{items_by_id, read_outcome};
pub(crate) use read::read;
pub use read::{AutomationFilter, Automations, CorruptAutomation, SessionSelector};
pub(crate) use read::{all_triggers, bound_to, live_triggers};
pub(crate) use schedule::{Cursor, current_cursor, next_due, parse_schedule};
pub use sorted::{
    AutomationNumbers, AutomationRank, AutomationSort, InvalidRank, SortedAutomations,
};
pub(crate) use stopping::{
    count_failures, delete, delete_corrupt, expire, pause, pause_corrupt, record_missed_until_stop,
    stop_triggers,
};
use stopping::{record_missed, stopped_at};
pub use triggers::NewTrigger;
pub use zone_rules::RecomputeReport;

/// The reason of a pause that a person asked for. Every other pause needs a person.
pub const PAUSED_BY_PERSON: &str = "paused by a person";

/// The properties of an automation that a person sets, for a new automation or an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAutomation {
    /// The name of the automation, unique within the tenant.
    pub name: String,
    /// The prompt.
    pub prompt: String,
    /// The agent of its runs.
    pub agent: AgentId,
    /// The working directory of its sessions, an absolute path. `None` gives each session a folder of its own.
    pub cwd: Option<String>,
    /// The instance on which the turns are placed. `None`: any instance may begin a session.
    pub placed_on: Option<InstanceId>,
    /// The session that receives each run's turn.
    pub session_mode: SessionMode,
    /// The key of the session to which the automation is bound, for `bound` only.
    pub bound_session_key: Option<String>,
    /// The policies.
    pub policies: Policies,
    /// The mode and the settings of the seats in its sessions.
    pub settings: SeatSettings,
    /// The rules that answer permission requests, in addition to the agent's rules.
    pub permissions: PermissionRules,
    /// The triggers, except the manual one, which every automation has.
    pub triggers: Vec<Spec>,
}

impl Store {
    /// Creates an automation, enabled, with its triggers and the manual one, and returns its ID. The caller may reserve
    /// that ID, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AlreadyCreated`] if an automation with the reserved ID exists or was deleted, and
    /// [`Error::NameTaken`] if another automation has the name.
    #[boxed]
    pub async fn create_automation(
        &self,
        tenant: TenantId,
        reserved: Option<AutomationId>,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<AutomationId, Error> {
        let id = reserved.unwrap_or_else(|| AutomationId::generate(now, self.ids()));
        let created = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move {
                    // 1. Check the ID before the insert, so that a repetition, whose name is in use too, gets
                    // `AlreadyCreated` and not `NameTaken`.
                    let used = tx
                        .fetch_optional(sql!("automations/by_id"), params![tenant, id])
                        .await?;
                    if used.is_some() {
                        return Err(Error::already_created("automation", id));
                    }
                    keep_agent(tx, tenant, new.agent).await?;
                    keep_instance(tx, tenant, new.placed_on).await?;
                    // 2. Insert the automation.
                    self.insert_automation(tx, (tenant, id), new, true, now)
                        .await?;
                    Ok(id)
                })
            })
            .await;
        if let Err(Error::Database(error)) = &created
            && error.conflict().is_some()
        {
            // A repetition of this request may have committed at the same time. It conflicts on the ID or on the
            // name. In both cases the error must be that the automation exists already.
            let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
            let used = tx
                .fetch_optional(sql!("automations/by_id"), params![tenant, id])
                .await?;
            if used.is_some() {
                return Err(Error::already_created("automation", id));
            }
        }
        created.map_err(|error| map_name_conflict(error, &new.name))
    }

    /// Inserts an automation with its triggers, and logs that. The triggers of one that is not enabled are never due.
    pub(crate) async fn insert_automation(
        &self,
        tx: &mut Tx,
        (tenant, id): (TenantId, AutomationId),
        new: &NewAutomation,
        is_enabled: bool,
        now: Timestamp,
    ) -> Result<(), Error> {
        // 1. Insert the automation. The format that it needs covers the triggers too, so that an older server leaves the
        // whole automation to a server that supports it.
        let policies = stored::write::<StoredPolicies>(&new.policies);
        let settings = stored::write::<StoredSettings>(&new.settings);
        let permissions = stored::write::<StoredPermissions>(&new.permissions);
        let documents = [&policies, &settings, &permissions];
        let needs_format = needs_format(documents, &new.triggers, new.placed_on);
        tx.execute(
            sql!("automations/insert"),
            params! { "automations/insert";
                id: id,
                tenant: tenant,
                name: new.name.as_str(),
                prompt: new.prompt.as_str(),
                agent: new.agent,
                cwd: new.cwd.as_deref(),
                placed_on: new.placed_on,
                session_mode: new.session_mode.as_str(),
                bound_key: new.bound_session_key.as_deref(),
                policies: &policies.value,
                settings: &settings.value,
                permissions: &permissions.value,
                now: now,
                format: stored::DOCUMENT_FORMAT,
                needs_format: needs_format,
            },
        )
        .await?;
        // 2. Insert the manual trigger, which every automation has, and the given ones.
        for spec in std::iter::once(&Spec::Manual {}).chain(&new.triggers) {
            let due_by = is_enabled.then_some(&new.policies);
            self.insert_trigger(tx, tenant, id, (None, spec), due_by, now)
                .await?;
        }
        // 3. Log the creation.
        let name = new.name.clone();
        log::write_change(tx, id, AutomationChange::Created { name }, now).await
    }

    /// Pauses an automation. Its triggers do not fire until it is resumed.
    #[boxed]
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
                automation
                    .state
                    .apply(AutomationEvent::Pause)
                    .map_err(|refused| refused.of(&automation.name))?;
                pause(self, tx, &automation, reason, now).await
            })
        })
        .await
    }

    /// Resumes an automation. Its triggers are due from now on, its count of failures, its notice for people and the end
    /// of its lifetime if that has passed are cleared, and runs that a budget defers check it again.
    #[boxed]
    pub async fn resume_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let automation = lock_with_triggers(tx, scope, id).await?;
                automation
                    .state
                    .apply(AutomationEvent::Resume)
                    .map_err(|refused| refused.of(&automation.name))?;
                // A server that does not support the automation may have paused it and left the cursors of its
                // triggers. Record the instants that were due until the pause.
                record_missed_until_stop(self, tx, &automation, now).await?;
                let none: Option<&str> = None;
                let never: Option<Timestamp> = None;
                tx.execute(
                    sql!("automations/set_paused"),
                    params![id, never, none, now],
                )
                .await?;
                tx.execute(sql!("automations/clear_expiry"), params![id, now])
                    .await?;
                set_attention(tx, id, None, now).await?;
                tx.execute(sql!("automations/set_failures"), params![id, 0_i64, now])
                    .await?;
                for trigger in live_triggers(tx, id).await? {
                    // Compute the next instant from now, even if the clock was set back: the due instants that have a
                    // row already get no second one.
                    let due = next_due(trigger.id, &trigger.spec, &automation.policies, now)?;
                    set_next_due(tx, trigger.id, due.as_ref(), now).await?;
                }
                usage::release_deferred_by_budget(tx, automation.tenant_id, Some(id), now).await?;
                log::write_change(tx, id, AutomationChange::Resumed, now).await
            })
        })
        .await
    }

    /// Detaches an automation from its current session. The next run starts a new session, and the old one stays in
    /// the history.
    #[boxed]
    pub async fn reset_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let automation = lock(tx, scope, id).await?;
                automation
                    .state
                    .apply(AutomationEvent::Reset)
                    .map_err(|refused| refused.of(&automation.name))?;
                let none: Option<model::SessionId> = None;
                tx.execute(
                    sql!("automations/set_current_session"),
                    params![id, none, now],
                )
                .await?;
                let session_id = automation.current_session_id;
                log::write_change(tx, id, AutomationChange::Reset { session_id }, now).await
            })
        })
        .await
    }
}

/// Locks an automation that is not deleted.
///
/// # Errors
///
/// Returns an error if the automation does not exist in `scope`, or if this server does not support its format.
pub(crate) async fn lock(tx: &mut Tx, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
    // Check the tenant before the lock, so that a request of another tenant locks nothing.
    read(tx, scope, id).await?;
    let locked = require_not_deleted(lock_automation(tx, id).await?)?;
    stored::require_supported("automation", &locked.name, locked.needs_format)?;
    Ok(locked)
}

fn require_not_deleted(automation: Automation) -> Result<Automation, Error> {
    if automation.state == AutomationState::Deleted {
        return Err(Error::not_found("automation", automation.id));
    }
    Ok(automation)
}

/// Locks the triggers of an automation and then the automation, which must not be deleted. For a transition
/// that a server may make even if it does not support the format of the automation.
pub(crate) async fn lock_of_any_format(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
) -> Result<Automation, Error> {
    let found = tx
        .fetch_optional(sql!("automations/by_id"), params![scope.tenant(), id])
        .await?;
    found.ok_or_else(|| Error::not_found("automation", id))?;
    lock_triggers(tx, id).await?;
    require_not_deleted(lock_automation(tx, id).await?)
}

/// Locks the triggers of an automation and then the automation, which must not be deleted. For a transition that
/// changes both.
pub(crate) async fn lock_with_triggers(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
) -> Result<Automation, Error> {
    read(tx, scope, id).await?;
    lock_triggers(tx, id).await?;
    lock(tx, scope, id).await
}

/// Returns the lowest format whose servers support an automation with all its documents, those of its triggers, and its
/// placement.
fn needs_format(
    documents: [&StoredDocument; 3],
    triggers: &[Spec],
    placed_on: Option<InstanceId>,
) -> i64 {
    let triggers = triggers.iter().map(stored::needs_format_of::<StoredSpec>);
    let documents = documents.into_iter().map(|written| written.needs_format);
    documents
        .chain(triggers)
        .chain([format_of_placement(placed_on)])
        .max()
        .unwrap_or(stored::DOCUMENT_FORMAT)
}

/// Sets the next instant of a trigger. `None` stops the trigger.
async fn set_next_due(
    tx: &mut Tx,
    id: TriggerId,
    cursor: Option<&Cursor>,
    now: Timestamp,
) -> Result<(), Error> {
    let origin = cursor.and_then(|cursor| cursor.origin.as_ref());
    tx.execute(
        sql!("triggers/set_next_due"),
        params! { "triggers/set_next_due";
            id: id,
            next_instant: cursor.map(|cursor| cursor.due.scheduled_for),
            fires_at: cursor.map(|cursor| cursor.due.fire_at),
            zone_rules: origin.map(|origin| origin.zone_rules.as_str()),
            decided: origin.map(|origin| origin.decided_until),
            offset: origin.map(|origin| i64::from(origin.offset_seconds)),
            now: now,
        },
    )
    .await?;
    Ok(())
}

/// Turns a conflict on the name of an automation into [`Error::NameTaken`].
pub(crate) fn map_name_conflict(error: Error, name: &str) -> Error {
    match error {
        Error::Database(error) if error.conflict() == Some("automations_one_per_name") => {
            Error::NameTaken {
                what: "automation",
                name: name.to_owned(),
            }
        }
        error => error,
    }
}
