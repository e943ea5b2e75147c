//! The firing of triggers by webhooks.
//!
//! **Invariant:** the receipt and the run are one transaction, so that a webhook which its sender repeats fires once.

use std::collections::HashMap;

use model::{
    RunId, TenantId, Timestamp, TriggerId, automation::AutomationState, run::RunStatus,
    schedule::Spec,
};

use crate::{
    Error, Scope, automations, boxed,
    runs::{
        create::{Occurrence, create_runs},
        fire::next_instant,
    },
    store::Store,
};

/// The result of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookReceipt {
    /// The run of the webhook. Its status is `skipped` if the occurrence was skipped.
    pub run_id: RunId,
    /// `true` if the webhook had been received before.
    pub is_duplicate: bool,
}

impl Store {
    /// Fires the trigger of a webhook, in the same way as a due trigger. The run, the payload and the receipt of
    /// `webhook_id` are one transaction. A webhook whose ID was received before changes nothing, and the result names
    /// the first run.
    ///
    /// The caller must have verified the signature.
    #[boxed]
    pub async fn fire_webhook(
        &self,
        tenant: TenantId,
        trigger: TriggerId,
        webhook_id: &str,
        payload: &str,
        now: Timestamp,
    ) -> Result<WebhookReceipt, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock the triggers and then the automation. The owner may be read before the locks, because a
                // trigger never changes its automation.
                let no_trigger = || Error::not_found("webhook trigger", trigger);
                let owner = tx
                    .fetch_optional(sql!("triggers/owner"), params![tenant, trigger])
                    .await?
                    .ok_or_else(no_trigger)?
                    .get("automation_id")?;
                let mut automation = automations::lock_with_triggers(tx, scope, owner).await?;
                // Search the trigger under the lock, because it may have been removed since the signature was verified.
                let triggers = automations::live_triggers(tx, owner).await?;
                let found = triggers
                    .iter()
                    .find(|found| found.id == trigger && found.spec == Spec::Webhook {});
                let found = found.ok_or_else(no_trigger)?;
                // 2. Decide whether the webhook is a duplicate. The lock of the automation serializes its webhooks, so
                // that the second of two equal ones finds the receipt.
                let receipt = tx
                    .fetch_optional(sql!("webhooks/receipt"), params![trigger, webhook_id])
                    .await?;
                if let Some(receipt) = receipt {
                    return Ok(WebhookReceipt {
                        run_id: receipt.get("run_id")?,
                        is_duplicate: true,
                    });
                }
                // 3. Create the run, or the row of a skipped occurrence: nothing fires after the end of its lifetime.
                if automation.has_expired(now) {
                    automations::expire(self, tx, &automation, now).await?;
                    automation.state = AutomationState::Paused;
                }
                let occurrence = Occurrence {
                    input: None,
                    trigger: found,
                    scheduled_for: next_instant(tx, found, now).await?,
                };
                let mut automations = HashMap::from([(owner, automation)]);
                let submitted =
                    create_runs(self, tx, &mut automations, vec![occurrence], now).await?;
                let submitted = submitted.into_iter().next().ok_or_else(no_trigger)?;
                let run_id = submitted.run_id;
                // 4. Write the payload and the receipt. Store no payload for a skipped run: it has no prompt that needs
                // the payload, and no session with which the payload would be deleted.
                if submitted.status != RunStatus::Skipped {
                    tx.execute(
                        sql!("webhooks/insert_payload"),
                        params![run_id, tenant, payload],
                    )
                    .await?;
                }
                tx.execute(
                    sql!("webhooks/insert_receipt"),
                    params![trigger, webhook_id, tenant, run_id, now],
                )
                .await?;
                Ok(WebhookReceipt {
                    run_id,
                    is_duplicate: false,
                })
            })
        })
        .await
    }
}
