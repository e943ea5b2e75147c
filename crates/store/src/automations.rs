//! Automations and their triggers.

mod edit;
pub(crate) mod log;
mod read;
mod triggers;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AutomationId, HarnessId, TenantId, Timestamp, TriggerId,
    automation::{AutomationEvent, AutomationState},
    entity::{Automation, SeatSettings, Trigger},
    lifecycle::Lifecycle,
    occurrence,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::{Schedule, Spec},
};
use serde_json::json;

use crate::{
    Error, Scope,
    database::Tx,
    rows,
    runs::{
        not_run::{Missed, miss_all},
        spend,
    },
    store::{Store, transact},
};

pub use edit::AutomationEdit;
use read::read;
pub use read::{AutomationFilter, Automations, InSession, Unreadable};
pub(crate) use read::{bound_to, live_triggers, triggers};
pub use triggers::NewTrigger;

/// What a person says of an automation: one to be made, or what one is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAutomation {
    /// Its name, unique for the tenant.
    pub name: String,
    /// What the agent is asked.
    pub prompt: String,
    /// The harness that starts the agent.
    pub harness: HarnessId,
    /// The working directory of its sessions, absolute; absent: a folder of each session's own.
    pub cwd: Option<String>,
    /// Where its turns go.
    pub session_mode: SessionMode,
    /// The key of the session that it is bound to, for `bound` only.
    pub bound_session_key: Option<String>,
    /// Its policies.
    pub policies: Policies,
    /// The mode and the settings of its seats.
    pub settings: SeatSettings,
    /// Rules for its turns, beyond those of the harness.
    pub permissions: PermissionRules,
    /// Its triggers, the manual one left out: every automation has that.
    pub triggers: Vec<Spec>,
}

impl Store {
    /// Makes an automation, enabled, with its triggers and the manual one.
    pub async fn create_automation(
        &self,
        tenant: TenantId,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<AutomationId, Error> {
        let id = AutomationId::generate(now, self.ids());
        self.create_automation_as(tenant, id, new, now).await?;
        Ok(id)
    }

    /// The same with an id that was reserved for it. Refused with [`Error::Made`] where it is there
    /// already, removed or not.
    pub async fn create_automation_as(
        &self,
        tenant: TenantId,
        id: AutomationId,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<(), Error> {
        let made = transact!(self, Scope::Tenant(tenant), |tx| {
            let used = tx
                .fetch_optional(sql!("automations/by_id"), params![tenant, id])
                .await?;
            if used.is_some() {
                return Err(Error::made("the automation", id));
            }
            tx.execute(
                sql!("automations/insert"),
                params![
                    id,
                    tenant,
                    new.name.as_str(),
                    new.prompt.as_str(),
                    new.harness,
                    new.cwd.as_deref(),
                    new.session_mode.as_str(),
                    new.bound_session_key.as_deref(),
                    &json!(new.policies),
                    &json!(new.settings),
                    &json!(new.permissions),
                    now
                ],
            )
            .await?;
            for spec in std::iter::once(&Spec::Manual {}).chain(&new.triggers) {
                let due = Some(&new.policies);
                self.insert_trigger(tx, tenant, id, spec, due, now).await?;
            }
            log::change(tx, id, "created", json!({ "name": new.name }), now).await?;
            Ok(())
        });
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
        transact!(self, scope, |tx| {
            let automation = lock_with_triggers(tx, scope, id).await?;
            automation.state.apply(AutomationEvent::Pause)?;
            pause(self, tx, &automation, reason, now).await
        })
    }

    /// Lets an automation go on. Its triggers are due from now, its row of failures is forgotten and
    /// what a person should look at counts as seen. Its runs that wait because of a budget look at it anew.
    pub async fn resume_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        transact!(self, scope, |tx| {
            let automation = lock_with_triggers(tx, scope, id).await?;
            automation.state.apply(AutomationEvent::Resume)?;
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
            log::change(tx, id, "resumed", json!({}), now).await
        })
    }

    /// Lets go of an automation's current session: the next run starts another one, and the old one
    /// stays in its history.
    pub async fn reset_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        transact!(self, scope, |tx| {
            let automation = lock(tx, scope, id).await?;
            automation.state.apply(AutomationEvent::Reset)?;
            let none: Option<model::SessionId> = None;
            tx.execute(
                sql!("automations/set_current_session"),
                params![id, none, now],
            )
            .await?;
            let before = json!({ "session_id": automation.current_session_id });
            log::change(tx, id, "reset", before, now).await
        })
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
        transact!(self, scope, |tx| {
            match lock_with_triggers(tx, scope, id).await {
                Ok(automation) => {
                    automation.state.apply(AutomationEvent::Delete)?;
                    delete(self, tx, &automation, now).await?;
                }
                Err(error) if error.is_nonsense() => delete_unreadable(tx, id, now).await?,
                Err(error) => return Err(error),
            }
            crate::runs::cancel::waiting_of(self, tx, id, "automation deleted", now).await
        })
    }
}

/// Locks an automation that is not removed.
pub(crate) async fn lock(tx: &mut Tx, scope: Scope, id: AutomationId) -> Result<Automation, Error> {
    // The tenant is checked by the first read; the second one locks what it found.
    read(tx, scope, id).await?;
    let locked = lock_any(tx, id).await?;
    if locked.state == AutomationState::Deleted {
        return Err(Error::not_found("automation", id));
    }
    Ok(locked)
}

/// Locks an automation that is not removed, and its triggers before it: for what moves both.
pub(crate) async fn lock_with_triggers(
    tx: &mut Tx,
    scope: Scope,
    id: AutomationId,
) -> Result<Automation, Error> {
    read(tx, scope, id).await?;
    tx.lock_rows(
        sql_of_postgres!("triggers/lock_of_automation"),
        vec![params![id]],
    )
    .await?;
    lock(tx, scope, id).await
}

/// Locks automations that stored rows name, removed or not, by id. One whose row makes no sense has its
/// error.
pub(crate) async fn lock_all(
    tx: &mut Tx,
    ids: &BTreeSet<AutomationId>,
) -> Result<BTreeMap<AutomationId, Result<Automation, Error>>, Error> {
    let rows = ids.iter().map(|id| params![*id]).collect();
    let locked = tx
        .fetch_rows(sql_by_dialect!("automations/lock"), rows, params![])
        .await?;
    let mut found = BTreeMap::new();
    for row in &locked {
        found.insert(row.get("id")?, rows::automation(row));
    }
    Ok(found)
}

/// Locks an automation that a stored row names, removed or not.
pub(crate) async fn lock_any(tx: &mut Tx, id: AutomationId) -> Result<Automation, Error> {
    let row = tx
        .fetch_one(sql_by_dialect!("automations/lock"), params![id])
        .await?;
    rows::automation(&row)
}

/// Pauses an automation and stops its triggers. What was due by now and not looked at is recorded.
pub(crate) async fn pause(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("automations/set_paused"),
        params![automation.id, now, reason, now],
    )
    .await?;
    log::change(
        tx,
        automation.id,
        "paused",
        json!({ "reason": reason }),
        now,
    )
    .await?;
    settle_triggers(store, tx, automation, now).await
}

/// Pauses an automation whose rows cannot be read, so that it holds up no other, and says why.
pub(crate) async fn give_up_on(
    tx: &mut Tx,
    id: AutomationId,
    why: &Error,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("automations/set_paused"),
        params![id, now, "schedule", now],
    )
    .await?;
    stop_triggers(tx, id, now).await?;
    log::change(tx, id, "paused", json!({ "reason": "schedule" }), now).await?;
    let text = format!("paused itself: {}", why.chain());
    ask_for_attention(tx, id, &text, now).await
}

/// Says what a person should look at, in the automation's log as well.
pub(crate) async fn ask_for_attention(
    tx: &mut Tx,
    id: AutomationId,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    set_attention(tx, id, Some(text), now).await?;
    log::change(tx, id, "attention", json!({ "text": text }), now).await
}

/// Keeps what a person should look at, or with `None` that it was seen.
async fn set_attention(
    tx: &mut Tx,
    id: AutomationId,
    text: Option<&str>,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("automations/set_attention"), params![id, text, now])
        .await?;
    Ok(())
}

/// Marks an automation as removed and stops its triggers. What was due by now and not looked at is
/// recorded.
pub(crate) async fn delete(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("automations/delete"), params![automation.id, now])
        .await?;
    tx.execute(sql!("webhooks/forget_secrets_of"), params![automation.id])
        .await?;
    log::change(tx, automation.id, "deleted", json!({}), now).await?;
    disable_endpoints(tx, automation.id, now).await?;
    settle_triggers(store, tx, automation, now).await
}

/// Marks an automation as removed whose row makes no sense, and stops its triggers. That it is the scope's
/// is known: its row was found there.
async fn delete_unreadable(tx: &mut Tx, id: AutomationId, now: Timestamp) -> Result<(), Error> {
    tx.lock_rows(
        sql_of_postgres!("triggers/lock_of_automation"),
        vec![params![id]],
    )
    .await?;
    let row = tx
        .fetch_one(sql_by_dialect!("automations/lock"), params![id])
        .await?;
    if row.optional::<Timestamp>("deleted_at")?.is_some() {
        return Err(Error::not_found("automation", id));
    }
    tx.execute(sql!("automations/delete"), params![id, now])
        .await?;
    disable_endpoints(tx, id, now).await?;
    stop_triggers(tx, id, now).await
}

/// Disables the endpoints that are told of a removed automation alone, and says why. What is on its way
/// to them still goes.
async fn disable_endpoints(tx: &mut Tx, id: AutomationId, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        sql!("endpoints/disable_of_automation"),
        params![id, "its automation was deleted", now],
    )
    .await?;
    Ok(())
}

/// Stops an automation's triggers, with a row for what they owe: a server that was down has not
/// looked at it, and nothing due disappears.
async fn settle_triggers(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    for trigger in live_triggers(tx, automation.id).await? {
        settle(store, tx, automation, &trigger, now).await?;
    }
    stop_triggers(tx, automation.id, now).await
}

/// Makes the row of what a trigger owes that is to be stopped.
async fn settle(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: &Trigger,
    now: Timestamp,
) -> Result<(), Error> {
    let (Some(scheduled_for), Some(fire_at)) = (trigger.next_scheduled_for, trigger.next_fire_at)
    else {
        return Ok(());
    };
    // One that cannot be worked out owes nothing that could be named.
    let Ok(schedule) = schedule(trigger.id, &trigger.spec) else {
        return Ok(());
    };
    let cursor = occurrence::Due {
        scheduled_for,
        fire_at,
    };
    let owed = occurrence::owed(trigger.id, &schedule, &automation.policies, cursor, now);
    match owed {
        None => Ok(()),
        Some(stretch) => {
            let missed = Missed {
                automation,
                trigger: trigger.id,
                schedule: &schedule,
                stretch,
                reason: "stopped before it was looked at",
            };
            miss_all(store, tx, vec![missed], now).await
        }
    }
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

/// Makes an automation's triggers due no more.
pub(crate) async fn stop_triggers(
    tx: &mut Tx,
    id: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("triggers/stop_all"), params![id, now])
        .await?;
    Ok(())
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

/// The schedule of a stored specification.
pub(crate) fn schedule(trigger: TriggerId, spec: &Spec) -> Result<Schedule, Error> {
    Schedule::parse(spec).map_err(|source| Error::Schedule { trigger, source })
}
