//! Triggers that come to an automation, and that leave it.

use model::{
    AutomationId, TenantId, Timestamp, TriggerId,
    automation::AutomationState,
    entity::{Automation, Trigger},
    lifecycle::Refused,
    policy::Policies,
    schedule::Spec,
};
use serde_json::json;

use super::{live_triggers, lock_with_triggers, log, next_due, settle};
use crate::{
    Error, Scope,
    database::Tx,
    store::{Store, transact},
};

impl Store {
    /// Gives an automation one more trigger. It is due from now; one of a paused automation once that
    /// is resumed. One that a webhook fires has a secret of its own.
    pub async fn add_trigger(
        &self,
        scope: Scope,
        automation: AutomationId,
        spec: &Spec,
        now: Timestamp,
    ) -> Result<TriggerId, Error> {
        transact!(self, scope, |tx| {
            let found = lock_with_triggers(tx, scope, automation).await?;
            let enabled = found.state == AutomationState::Enabled;
            let due_by = enabled.then_some(&found.policies);
            let id = self
                .insert_trigger(tx, found.tenant_id, automation, spec, due_by, now)
                .await?;
            let told = json!({ "name": found.name, "trigger_added": id });
            log::change(tx, automation, "edited", told, now).await?;
            Ok(id)
        })
    }

    /// Takes a trigger from its automation. What it owes has its row, and its runs stay. The manual one
    /// cannot go.
    pub async fn remove_trigger(
        &self,
        scope: Scope,
        id: TriggerId,
        now: Timestamp,
    ) -> Result<(), Error> {
        transact!(self, scope, |tx| {
            let gone = || Error::not_found("trigger", id);
            let owner = tx
                .fetch_optional(sql!("triggers/owner"), params![scope.tenant(), id])
                .await?
                .ok_or_else(gone)?
                .get("automation_id")?;
            let automation = lock_with_triggers(tx, scope, owner).await?;
            let there = live_triggers(tx, owner).await?;
            let trigger = there.iter().find(|one| one.id == id).ok_or_else(gone)?;
            if trigger.spec == (Spec::Manual {}) {
                return Err(Error::Refused(Refused {
                    what: "trigger",
                    state: "manual".into(),
                    event: "be removed".into(),
                }));
            }
            self.drop_trigger(tx, &automation, trigger, now).await?;
            let told = json!({ "name": automation.name, "trigger_removed": id });
            log::change(tx, owner, "edited", told, now).await
        })
    }

    /// Makes a trigger that is due from now; where there are no policies for that, it is not due.
    pub(super) async fn insert_trigger(
        &self,
        tx: &mut Tx,
        tenant: TenantId,
        automation: AutomationId,
        spec: &Spec,
        due_by: Option<&Policies>,
        now: Timestamp,
    ) -> Result<TriggerId, Error> {
        let id = TriggerId::generate(now, self.ids());
        let due = match due_by {
            Some(policies) => next_due(id, spec, policies, now)?,
            None => None,
        };
        tx.execute(
            sql!("triggers/insert"),
            params![
                id,
                tenant,
                automation,
                spec.kind(),
                &json!(spec),
                due.map(|due| due.scheduled_for),
                due.map(|due| due.fire_at),
                now
            ],
        )
        .await?;
        if *spec == (Spec::Webhook {}) {
            self.insert_secret(tx, tenant, id, now).await?;
        }
        Ok(id)
    }

    /// Marks a trigger as removed, with a row for what it owes.
    pub(super) async fn drop_trigger(
        &self,
        tx: &mut Tx,
        automation: &Automation,
        trigger: &Trigger,
        now: Timestamp,
    ) -> Result<(), Error> {
        settle(self, tx, automation, trigger, now).await?;
        tx.execute(sql!("triggers/remove"), params![trigger.id, now])
            .await?;
        if trigger.spec == (Spec::Webhook {}) {
            tx.execute(sql!("webhooks/forget_secret"), params![trigger.id])
                .await?;
        }
        Ok(())
    }
}
