//! The triggers of an automation: added and removed one by one.

use model::{
    AutomationId, TenantId, Timestamp, TriggerId,
    automation::AutomationState,
    entity::{Automation, Trigger},
    event::{AutomationChange, TriggerEdit},
    lifecycle::InvalidTransition,
    policy::Policies,
    schedule::Spec,
};

use super::{
    NewAutomation, all_triggers, live_triggers, lock_with_triggers, log, next_due, read,
    record_missed, stopped_at,
};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    store::Store,
    stored::{self, StoredSpec},
};

/// A trigger to be added to an automation.
#[derive(Debug, Clone, Copy)]
pub struct NewTrigger<'a> {
    /// The ID that the caller has reserved for the trigger.
    pub reserved: Option<TriggerId>,
    /// The schedule of the trigger.
    pub spec: &'a Spec,
    /// The automation as the caller has read it. If the automation has changed since, nothing is added.
    pub expected: Option<&'a NewAutomation>,
}

impl Store {
    /// Adds a trigger to an automation and returns its ID. The trigger is due from now on, or from the moment at
    /// which a paused automation is resumed. If the automation has an equal trigger, returns the ID of that one; a
    /// webhook trigger equals no other, because each has a secret of its own.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AlreadyCreated`] if a trigger with the reserved ID exists or was removed.
    pub async fn add_trigger(
        &self,
        scope: Scope,
        automation: AutomationId,
        new: NewTrigger<'_>,
        now: Timestamp,
    ) -> Result<TriggerId, Error> {
        let NewTrigger {
            reserved,
            spec,
            expected: seen,
        } = new;
        let id = reserved.unwrap_or_else(|| TriggerId::generate(now, self.ids()));
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock the triggers and then the automation.
                let automation_row = lock_with_triggers(tx, scope, automation).await?;
                // 2. Decide. The IDs of removed triggers count as used, so that a late repetition does not add a
                // trigger again after a person has removed it.
                let all = all_triggers(tx, automation).await?;
                if all.iter().any(|trigger| trigger.id == id) {
                    return Err(Error::already_created("trigger", id));
                }
                let live = live_triggers(tx, automation).await?;
                check_unchanged(&automation_row, &live, seen)?;
                // Webhook triggers are never equal, because each one has its own secret.
                let equal = live.iter().find(|trigger| trigger.spec == *spec);
                if let Some(equal) = equal.filter(|_| *spec != Spec::Webhook {}) {
                    return Ok(equal.id);
                }
                // 3. Write the trigger. A paused automation must not become due, so its new trigger gets no instant.
                let enabled = automation_row.state == AutomationState::Enabled;
                let due_by = enabled.then_some(&automation_row.policies);
                let tenant = automation_row.tenant_id;
                self.insert_trigger(tx, tenant, automation, (Some(id), spec), due_by, now)
                    .await?;
                // 4. Log the edit.
                let change = AutomationChange::Edited {
                    name: automation_row.name,
                    trigger: Some(TriggerEdit::Added(id)),
                };
                log::write_change(tx, automation, change, now).await?;
                Ok(id)
            })
        })
        .await
    }

    /// Returns `true` if an automation has or had a trigger with an ID.
    #[boxed]
    pub async fn had_trigger(
        &self,
        scope: Scope,
        automation: AutomationId,
        id: TriggerId,
    ) -> Result<bool, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read(&mut tx, scope, automation).await?;
        let all = all_triggers(&mut tx, automation).await?;
        Ok(all.iter().any(|trigger| trigger.id == id))
    }

    /// Removes a trigger from its automation. Its due instants are recorded as missed, and its runs stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the trigger is the manual one, and [`Error::StaleVersion`] if the automation no longer
    /// equals `seen`.
    #[boxed]
    pub async fn remove_trigger(
        &self,
        scope: Scope,
        id: TriggerId,
        seen: Option<&NewAutomation>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let no_trigger = || Error::not_found("trigger", id);
                let owner = tx
                    .fetch_optional(sql!("triggers/owner"), params![scope.tenant(), id])
                    .await?
                    .ok_or_else(no_trigger)?
                    .get("automation_id")?;
                let automation = lock_with_triggers(tx, scope, owner).await?;
                let live = live_triggers(tx, owner).await?;
                check_unchanged(&automation, &live, seen)?;
                let trigger = live
                    .iter()
                    .find(|candidate| candidate.id == id)
                    .ok_or_else(no_trigger)?;
                if trigger.spec == (Spec::Manual {}) {
                    return Err(Error::Refused(InvalidTransition {
                        what: "trigger",
                        object: Some(id.to_string()),
                        state: "manual".into(),
                        event: "be removed".into(),
                    }));
                }
                self.mark_trigger_removed(tx, &automation, trigger, now)
                    .await?;
                let change = AutomationChange::Edited {
                    name: automation.name,
                    trigger: Some(TriggerEdit::Removed(id)),
                };
                log::write_change(tx, owner, change, now).await
            })
        })
        .await
    }

    /// Inserts a trigger, with a reserved ID if there is one. The trigger is due from now on, or not at all if there
    /// are no policies by which it could be due.
    pub(super) async fn insert_trigger(
        &self,
        tx: &mut Tx,
        tenant: TenantId,
        automation: AutomationId,
        (reserved, spec): (Option<TriggerId>, &Spec),
        due_by: Option<&Policies>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let id = reserved.unwrap_or_else(|| TriggerId::generate(now, self.ids()));
        // 1. Compute the next due instant.
        let cursor = match due_by {
            Some(policies) => next_due(id, spec, policies, now)?,
            None => None,
        };
        // 2. Insert the trigger, and raise the format that the automation needs, so that a server that does not support
        // the trigger leaves the automation alone.
        let stored = stored::write::<StoredSpec>(spec);
        let origin = cursor.as_ref().and_then(|cursor| cursor.origin.as_ref());
        tx.execute(
            sql!("triggers/insert"),
            params! { "triggers/insert";
                id: id,
                tenant: tenant,
                automation: automation,
                kind: spec.kind(),
                spec: &stored.value,
                next_instant: cursor.as_ref().map(|cursor| cursor.due.scheduled_for),
                fires_at: cursor.as_ref().map(|cursor| cursor.due.fire_at),
                zone_rules: origin.map(|origin| origin.zone_rules.as_str()),
                decided: origin.map(|origin| origin.decided_until),
                offset: origin.map(|origin| i64::from(origin.offset_seconds)),
                now: now,
                format: stored::DOCUMENT_FORMAT,
                needs_format: stored.needs_format,
            },
        )
        .await?;
        tx.execute(
            sql!("automations/raise_format"),
            params![automation, stored::DOCUMENT_FORMAT, stored.needs_format],
        )
        .await?;
        // 3. Generate the secret that signs the webhooks.
        if *spec == (Spec::Webhook {}) {
            self.insert_secret(tx, tenant, id, now).await?;
        }
        Ok(())
    }

    /// Marks a trigger as removed and records its due instants as missed.
    pub(super) async fn mark_trigger_removed(
        &self,
        tx: &mut Tx,
        automation: &Automation,
        trigger: &Trigger,
        now: Timestamp,
    ) -> Result<(), Error> {
        // Instants after the pause of an automation are not due.
        let until = stopped_at(tx, automation.id).await?.unwrap_or(now);
        record_missed(self, tx, automation, trigger, until, now).await?;
        tx.execute(sql!("triggers/remove"), params![trigger.id, now])
            .await?;
        if trigger.spec == (Spec::Webhook {}) {
            tx.execute(sql!("webhooks/forget_secret"), params![trigger.id])
                .await?;
        }
        Ok(())
    }
}

/// Returns [`Error::StaleVersion`] if an automation differs from the version that the caller has read.
fn check_unchanged(
    automation: &Automation,
    triggers: &[Trigger],
    seen: Option<&NewAutomation>,
) -> Result<(), Error> {
    match seen {
        Some(seen) if NewAutomation::of(automation, triggers) != *seen => {
            Err(Error::StaleVersion {
                what: "automation",
                name: automation.name.clone(),
            })
        }
        _ => Ok(()),
    }
}
