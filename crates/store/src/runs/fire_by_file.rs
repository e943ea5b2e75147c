//! The firing of automations by trigger files of other programs.

use model::{
    AutomationId, InputId, InstanceId, TenantId, Timestamp,
    automation::AutomationState,
    lifecycle::{InvalidTransition, Lifecycle as _},
    run::RunStatus,
    turn::SubmittedRun,
};

use crate::{Error, Scope, automations, boxed, runs::fire::refuse_used_input, store::Store};

impl Store {
    /// Creates an occurrence of an automation because a file in the trigger folder of an instance requests it, on the
    /// same path as `fire_automation`. `payload` is the data that the agent receives beside the automation's own
    /// instruction; any program may have written it. The run and its payload are one transaction. The caller may reserve
    /// the ID of the input, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the automation is not placed on the instance, as for an automation that
    /// does not exist. Returns [`Error::Refused`] if the automation is not enabled or has expired, and
    /// [`Error::AlreadyCreated`] if an input with the reserved ID exists.
    #[boxed]
    pub async fn fire_by_file(
        &self,
        tenant: TenantId,
        id: AutomationId,
        input: Option<InputId>,
        instance: InstanceId,
        payload: &str,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock, and decide whether the file may fire the automation.
                refuse_used_input(tx, input).await?;
                let automation = automations::lock_with_triggers(tx, scope, id).await?;
                if automation.placed_on != Some(instance) {
                    return Err(Error::not_found("automation", id));
                }
                let obstacle = match automation.state {
                    AutomationState::Enabled => automation.has_expired(now).then_some("expired"),
                    stopped => Some(stopped.as_str()),
                };
                if let Some(state) = obstacle {
                    return Err(Error::Refused(InvalidTransition {
                        what: AutomationState::WHAT,
                        object: Some(automation.name),
                        state: state.into(),
                        event: "be fired by a trigger file".into(),
                    }));
                }
                // 2. Create the run, and store the payload with it. A skipped run has no prompt that needs the payload.
                let submitted = self.fire_manual_trigger(tx, automation, input, now).await?;
                if submitted.status != RunStatus::Skipped {
                    tx.execute(
                        sql!("webhooks/insert_payload"),
                        params![submitted.run_id, tenant, payload],
                    )
                    .await?;
                }
                Ok(submitted)
            })
        })
        .await
    }
}
