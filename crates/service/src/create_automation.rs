//! Making an automation.

use model::Timestamp;
use store::NewAutomation;

use crate::{AutomationRequest, AutomationView, Error, Service, naming};

/// How many names derived from one prompt are tried before that is given up.
const DERIVED_NAMES: u32 = 1000;

impl Service {
    /// Makes an automation, enabled, and answers with its triggers and its next fires.
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
    ) -> Result<AutomationView, Error> {
        let now = self.now();
        let mut new = self.define(request, None, now).await?;
        let id = if request.name.is_some() {
            self.store.create_automation(self.tenant, &new, now).await?
        } else {
            self.create_with_derived_name(&mut new, now).await?
        };
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }

    /// Makes an automation under the first free name that its prompt gives: `check-the-build`,
    /// `check-the-build-2`.
    async fn create_with_derived_name(
        &self,
        new: &mut NewAutomation,
        now: Timestamp,
    ) -> Result<model::AutomationId, Error> {
        let base = naming::derived(&new.prompt);
        let mut number = 1;
        loop {
            new.name = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            match self.store.create_automation(self.tenant, new, now).await {
                Err(store::Error::Exists { .. }) if number < DERIVED_NAMES => number += 1,
                made => return Ok(made?),
            }
        }
    }
}
