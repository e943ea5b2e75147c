//! Edits of automations.
//!
//! **Invariant:** an edit compares the automation and its triggers with the version that the editor has read, so that
//! no edit overwrites another one unseen.

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
    NewAutomation, live_triggers, lock_with_triggers, log, map_name_conflict, needs_format,
    next_due, set_attention,
};
use crate::{
    Error, Scope,
    agents::keep_agent,
    database::Tx,
    document_format::format_of_placement,
    instances::keep_instance,
    locks, rows,
    store::Store,
    stored::{self, StoredPermissions, StoredPolicies, StoredSettings},
};

/// An edit of an automation.
#[derive(Debug, Clone, Copy)]
pub struct AutomationEdit<'a> {
    /// The version that the editor has read. If the automation differs from it, nothing is changed.
    pub expected: &'a NewAutomation,
    /// The version after the edit.
    pub updated: &'a NewAutomation,
    /// `true` to detach the automation from its current session, as a reset does.
    pub detach_session: bool,
}

impl NewAutomation {
    /// Returns the present properties of an automation and its triggers.
    pub fn of(automation: &Automation, triggers: &[Trigger]) -> Self {
        let timed = triggers
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        Self {
            name: automation.name.clone(),
            prompt: automation.prompt.clone(),
            agent: automation.agent_id,
            cwd: automation.cwd.clone(),
            placed_on: automation.placed_on,
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
    /// Edits an automation. An unchanged trigger keeps its next instant, and a new trigger is due from now on. Due
    /// instants of a removed trigger are recorded as missed. Existing runs keep their prompt, their session and
    /// whether they exclude each other.
    ///
    /// The current session of a continuous automation stays as it began: a change of the agent, the working directory
    /// or the instance is an error, unless the edit detaches that session. A change of its mode and settings applies from
    /// its next turn on.
    ///
    /// # Errors
    ///
    /// Returns [`Error::StaleVersion`] if the automation no longer equals the version that was read,
    /// [`Error::FixedBySession`] if the current session prevents the change, and [`Error::NameTaken`] if another
    /// automation has the name.
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
                    // 1. Lock, and compare with the version that the editor has read.
                    let automation = lock_with_triggers(tx, scope, id).await?;
                    let triggers = live_triggers(tx, id).await?;
                    if NewAutomation::of(&automation, &triggers) != *edit.expected {
                        return Err(Error::StaleVersion {
                            what: "automation",
                            name: automation.name,
                        });
                    }
                    let updated = edit.updated;
                    if updated.agent != automation.agent_id {
                        keep_agent(tx, tenant, updated.agent).await?;
                    }
                    if updated.placed_on != automation.placed_on {
                        keep_instance(tx, tenant, updated.placed_on).await?;
                    }
                    // 2. Apply the settings to the current session.
                    let session = session_after_edit(&automation, edit)?;
                    if let Some(session) = session
                        && updated.settings != automation.settings
                    {
                        set_session_settings(tx, session, &updated.settings, now).await?;
                    }
                    // 3. Write the automation. The rewrite keeps the keys of stored documents that this version does
                    // not know.
                    let before = tx
                        .fetch_one(sql!("automations/documents"), params![id])
                        .await?;
                    let policies =
                        stored::rewrite::<StoredPolicies>(&updated.policies, &before, "policies")?;
                    let settings =
                        stored::rewrite::<StoredSettings>(&updated.settings, &before, "settings")?;
                    let permissions = stored::rewrite::<StoredPermissions>(
                        &updated.permissions,
                        &before,
                        "permissions",
                    )?;
                    tx.execute(
                        sql!("automations/edit"),
                        params! { "automations/edit";
                            id: id,
                            name: updated.name.as_str(),
                            prompt: updated.prompt.as_str(),
                            agent: updated.agent,
                            cwd: updated.cwd.as_deref(),
                            placed_on: updated.placed_on,
                            session_mode: updated.session_mode.as_str(),
                            bound_key: updated.bound_session_key.as_deref(),
                            current_session: session,
                            policies: &policies.value,
                            settings: &settings.value,
                            permissions: &permissions.value,
                            now: now,
                            format: stored::format_after_rewrite(before.get("format")?),
                            needs_format: needs_format(
                                [&policies, &settings, &permissions],
                                &updated.triggers,
                                updated.placed_on,
                            ),
                        },
                    )
                    .await?;
                    if updated.bound_session_key != automation.bound_session_key {
                        // The notice may have been about the session to which the automation is no longer bound.
                        set_attention(tx, id, None, now).await?;
                    }
                    // 4. Replace the triggers that differ.
                    self.edit_triggers(tx, &automation, &triggers, updated, now)
                        .await?;
                    let change = AutomationChange::Edited {
                        name: updated.name.clone(),
                        trigger: None,
                    };
                    log::write_change(tx, id, change, now).await
                })
            })
            .await;
        edited.map_err(|error| map_name_conflict(error, &edit.updated.name))
    }

    /// Removes the triggers that the edit omits, and inserts the new ones.
    async fn edit_triggers(
        &self,
        tx: &mut Tx,
        automation: &Automation,
        triggers: &[Trigger],
        updated: &NewAutomation,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut wanted: Vec<&Spec> = updated.triggers.iter().collect();
        // Compare by specification. Use each wanted specification once, so that both of two equal triggers stay.
        let existing = triggers
            .iter()
            .filter(|trigger| trigger.spec != Spec::Manual {});
        for trigger in existing {
            if let Some(kept) = wanted.iter().position(|spec| **spec == trigger.spec) {
                wanted.remove(kept);
                if updated.policies.jitter_seconds != automation.policies.jitter_seconds {
                    recompute_jitter(tx, trigger, &updated.policies).await?;
                }
            } else {
                self.mark_trigger_removed(tx, automation, trigger, now)
                    .await?;
            }
        }
        // The triggers of a paused automation fire only after it is resumed.
        let enabled = automation.state == AutomationState::Enabled;
        let due_by = enabled.then_some(&updated.policies);
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

/// Returns the session in which the next turn runs after an edit. Returns `None` if the next turn needs a new session
/// or the automation is bound.
///
/// # Errors
///
/// Returns [`Error::FixedBySession`] if the edit changes a property that the session cannot change.
fn session_after_edit(
    automation: &Automation,
    edit: AutomationEdit<'_>,
) -> Result<Option<SessionId>, Error> {
    if edit.detach_session || edit.updated.session_mode != SessionMode::Continuous {
        return Ok(None);
    }
    let Some(session) = automation.current_session_id else {
        return Ok(None);
    };
    let what = if edit.updated.agent != automation.agent_id {
        "agent"
    } else if edit.updated.cwd != automation.cwd {
        "working directory"
    } else if edit.updated.placed_on != automation.placed_on {
        "instance"
    } else {
        return Ok(Some(session));
    };
    Err(Error::FixedBySession {
        what,
        name: automation.name.clone(),
        session,
    })
}

/// Changes the settings of the entry seat of an automation's current session, from its next turn on.
async fn set_session_settings(
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
    stored::require_supported("session", &session.to_string(), needed)?;
    let written = stored::rewrite::<StoredSettings>(settings, before, "settings")?;
    let format = stored::format_after_rewrite(before.get("format")?);
    // The column also says which servers can take turns in the directory of the session.
    let row = tx.fetch_one(sql!("sessions/by_id"), params![None::<TenantId>, session]);
    let directory = rows::session(&row.await?)?.cwd;
    let needs_format = written
        .needs_format
        .max(stored::directory_needs_format(directory.as_deref()))
        .max(format_of_placement(before.optional("placed_on")?));
    tx.execute(
        sql!("seats/set_session_settings"),
        params![seat, &written.value, now, format, needs_format],
    )
    .await?;
    Ok(())
}

/// Recomputes the delay of the next instant of a trigger after a change of the jitter. The instant itself stays.
async fn recompute_jitter(
    tx: &mut Tx,
    trigger: &Trigger,
    policies: &Policies,
) -> Result<(), Error> {
    let Some(instant) = trigger.next_scheduled_for else {
        return Ok(());
    };
    let before = instant.saturating_sub(std::time::Duration::from_micros(1));
    let cursor = next_due(trigger.id, &trigger.spec, policies, before)?;
    if let Some(due) = cursor.map(|cursor| cursor.due)
        && due.scheduled_for == instant
    {
        // The origin stays, because the instant is the same.
        tx.execute(
            sql!("triggers/set_fire_at"),
            params![trigger.id, instant, due.fire_at],
        )
        .await?;
    }
    Ok(())
}
