//! Changing an automation.

use std::collections::BTreeSet;

use model::{
    AutomationId, SeatId, SessionId, TenantId, Timestamp,
    automation::AutomationState,
    entity::{Automation, SeatSettings, Trigger},
    event::AutomationChange,
    policy::{Policies, SessionMode},
    schedule::Spec,
};

use super::{
    NewAutomation, live_triggers, lock_with_triggers, log, name_is_taken, needs_format, next_due,
    set_attention, set_next,
};
use crate::{
    Error, Scope,
    database::Tx,
    locks,
    store::Store,
    stored::{self, StoredPermissions, StoredPolicies, StoredSettings},
};

/// A change of an automation.
#[derive(Debug, Clone, Copy)]
pub struct AutomationEdit<'a> {
    /// What whoever changes it has read. Where it is something else by now, nothing is changed.
    pub seen: &'a NewAutomation,
    /// What it is to be.
    pub to: &'a NewAutomation,
    /// Whether it lets go of its current session, as a reset does.
    pub reset: bool,
}

impl NewAutomation {
    /// What an automation and its triggers say.
    pub fn of(automation: &Automation, triggers: &[Trigger]) -> Self {
        let timed = triggers
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        Self {
            name: automation.name.clone(),
            prompt: automation.prompt.clone(),
            harness: automation.harness_id,
            cwd: automation.cwd.clone(),
            session_mode: automation.session_mode,
            bound_session_key: automation.bound_session_key.clone(),
            policies: automation.policies.clone(),
            settings: automation.settings.clone(),
            permissions: automation.permissions.clone(),
            triggers: timed.map(|trigger| trigger.spec.clone()).collect(),
        }
    }
}

impl Store {
    /// Changes an automation. Triggers that stay as they are keep their cadence, others are due from
    /// now, and what a trigger owes that goes has its row. Runs that are there keep their words, their
    /// session and whether they exclude each other.
    ///
    /// A continuous automation's current session goes on as it began: another harness or another
    /// working directory is refused, unless the edit lets go of that session. Its mode and settings
    /// are applied from its next turn on.
    pub async fn edit_automation(
        &self,
        tenant: TenantId,
        id: AutomationId,
        edit: AutomationEdit<'_>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let scope = Scope::Tenant(tenant);
        let edited = self
            .transact(scope, |tx, _| {
                Box::pin(async move {
                    let automation = lock_with_triggers(tx, scope, id).await?;
                    let there = live_triggers(tx, id).await?;
                    if NewAutomation::of(&automation, &there) != *edit.seen {
                        return Err(Error::Changed {
                            what: "automation",
                            name: automation.name,
                        });
                    }
                    let to = edit.to;
                    let session = current_session(&automation, edit)?;
                    if let Some(session) = session
                        && to.settings != automation.settings
                    {
                        set_settings(tx, session, &to.settings, now).await?;
                    }
                    let before = tx
                        .fetch_one(sql!("automations/documents"), params![id])
                        .await?;
                    let policies =
                        stored::rewrite::<StoredPolicies>(&to.policies, &before, "policies")?;
                    let settings =
                        stored::rewrite::<StoredSettings>(&to.settings, &before, "settings")?;
                    let permissions = stored::rewrite::<StoredPermissions>(
                        &to.permissions,
                        &before,
                        "permissions",
                    )?;
                    tx.execute(
                sql!("automations/edit"),
                params! { "automations/edit";
                    id: id,
                    name: to.name.as_str(),
                    prompt: to.prompt.as_str(),
                    harness: to.harness,
                    cwd: to.cwd.as_deref(),
                    session_mode: to.session_mode.as_str(),
                    bound_key: to.bound_session_key.as_deref(),
                    current_session: session,
                    policies: &policies.value,
                    settings: &settings.value,
                    permissions: &permissions.value,
                    now: now,
                    format: stored::format_over(before.get("format")?),
                    needs_format: needs_format([&policies, &settings, &permissions], &to.triggers),
                },
            )
            .await?;
                    if to.bound_session_key != automation.bound_session_key {
                        // What was said of the session to which it was bound is no longer so.
                        set_attention(tx, id, None, now).await?;
                    }
                    self.edit_triggers(tx, &automation, &there, to, now).await?;
                    let change = AutomationChange::Edited {
                        name: to.name.clone(),
                        trigger: None,
                    };
                    log::change(tx, id, change, now).await
                })
            })
            .await;
        edited.map_err(|error| name_is_taken(error, &edit.to.name))
    }

    async fn edit_triggers(
        &self,
        tx: &mut Tx,
        automation: &Automation,
        there: &[Trigger],
        to: &NewAutomation,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut wanted: Vec<&Spec> = to.triggers.iter().collect();
        let timed = there.iter().filter(|it| it.spec != Spec::Manual {});
        for trigger in timed {
            if let Some(stays) = wanted.iter().position(|spec| **spec == trigger.spec) {
                wanted.remove(stays);
                if to.policies.jitter_seconds != automation.policies.jitter_seconds {
                    spread_anew(tx, trigger, &to.policies, now).await?;
                }
            } else {
                self.drop_trigger(tx, automation, trigger, now).await?;
            }
        }
        // Those of a paused automation are due once it is resumed.
        let enabled = automation.state == AutomationState::Enabled;
        let due_by = enabled.then_some(&to.policies);
        for spec in wanted {
            self.insert_trigger(
                tx,
                automation.tenant_id,
                automation.id,
                (None, spec),
                due_by,
                now,
            )
            .await?;
        }
        Ok(())
    }
}

/// The session that the automation's next turn goes to after an edit, if that is one which is there.
/// What that one cannot change is refused.
fn current_session(
    automation: &Automation,
    edit: AutomationEdit<'_>,
) -> Result<Option<SessionId>, Error> {
    if edit.reset || edit.to.session_mode != SessionMode::Continuous {
        return Ok(None);
    }
    let Some(session) = automation.current_session_id else {
        return Ok(None);
    };
    let what = if edit.to.harness != automation.harness_id {
        "harness"
    } else if edit.to.cwd != automation.cwd {
        "working directory"
    } else {
        return Ok(Some(session));
    };
    Err(Error::KeptBySession {
        what,
        name: automation.name.clone(),
        session,
    })
}

/// Gives the seat of an automation's own session other settings, from its next turn on.
async fn set_settings(
    tx: &mut Tx,
    session: SessionId,
    settings: &SeatSettings,
    now: Timestamp,
) -> Result<(), Error> {
    let seat = tx.fetch_one(sql!("seats/entry"), params![session]).await?;
    let seat: SeatId = seat.get("id")?;
    locks::lock_seats(tx, &BTreeSet::from([seat])).await?;
    let ids = vec![params![seat]];
    let before = tx.fetch_rows(sql!("seats/by_ids"), ids, params![]).await?;
    let Some(before) = before.first() else {
        return Ok(());
    };
    let needed = stored::needs_format(before)?;
    stored::require_honoured("session", &session.to_string(), needed)?;
    let written = stored::rewrite::<StoredSettings>(settings, before, "settings")?;
    let format = stored::format_over(before.get("format")?);
    tx.execute(
        sql!("seats/set_settings"),
        params![seat, &written.value, now, format, written.needs_format],
    )
    .await?;
    Ok(())
}

/// Works out anew when a trigger's next instant fires; the instant stays.
async fn spread_anew(
    tx: &mut Tx,
    trigger: &Trigger,
    policies: &Policies,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(instant) = trigger.next_scheduled_for else {
        return Ok(());
    };
    let before = instant.saturating_sub(std::time::Duration::from_micros(1));
    let due = next_due(trigger.id, &trigger.spec, policies, before)?;
    match due {
        Some(due) if due.scheduled_for == instant => set_next(tx, trigger.id, Some(due), now).await,
        _ => Ok(()),
    }
}
