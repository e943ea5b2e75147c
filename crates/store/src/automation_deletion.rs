//! The deletion of automations.

use model::{AutomationId, Timestamp, automation::AutomationEvent, lifecycle::Lifecycle as _};

use crate::{
    Error, Scope, automations, boxed, runs::cancel::cancel_waiting_of_automation,
    session_log::SessionLogWriter, store::Store,
};

impl Store {
    /// Deletes an automation. Its sessions and its runs stay. Its waiting runs are cancelled, and a running turn
    /// continues to its end. An automation whose row is corrupt is deleted too, without a record of its due instants,
    /// which cannot be computed.
    #[boxed]
    pub async fn delete_automation(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                match automations::lock_of_any_format(tx, scope, id).await {
                    Ok(automation) => {
                        automation
                            .state
                            .apply(AutomationEvent::Delete)
                            .map_err(|refused| refused.of(&automation.name))?;
                        automations::delete(self, tx, &automation, now).await?;
                    }
                    Err(error) if error.is_corrupt() => {
                        automations::delete_corrupt(tx, id, now).await?;
                    }
                    Err(error) => return Err(error),
                }
                let mut log = SessionLogWriter::default();
                let reason = "the automation was deleted";
                cancel_waiting_of_automation(self, tx, &mut log, id, reason, now).await?;
                log.write(tx, now).await
            })
        })
        .await
    }
}
