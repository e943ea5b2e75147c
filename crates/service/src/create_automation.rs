//! Making an automation.

use model::{AutomationId, Timestamp};
use store::NewAutomation;
use wire::{AutomationRequest, AutomationView};

use crate::{Error, Service, naming};

/// How many names derived from one prompt are tried before that is given up.
const DERIVED_NAMES: u32 = 1000;

impl Service {
    /// Makes an automation, enabled, and answers with its triggers and its next fires. With an `id` that was
    /// reserved for it, one that is there already is given as it is.
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
        id: Option<AutomationId>,
    ) -> Result<AutomationView, Error> {
        if let Some(id) = id {
            match self.store.automation(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                there => return self.automation_view(there?).await,
            }
        }
        let now = self.now();
        let mut new = self.define(request, None, now).await?;
        let id = id.unwrap_or_else(|| AutomationId::generate(now, &*self.entropy));
        if request.name.is_some() {
            self.create_as(id, &new, now).await?;
        } else {
            self.create_with_derived_name(id, &mut new, now).await?;
        }
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }

    /// Makes an automation, unless the same request has made it meanwhile.
    async fn create_as(
        &self,
        id: AutomationId,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let made = self
            .store
            .create_automation_as(self.tenant, id, new, now)
            .await;
        match made {
            Err(store::Error::Made { .. }) => Ok(()),
            made => made,
        }
    }

    /// Makes an automation under the first free name that its prompt gives: `check-the-build`,
    /// `check-the-build-2`.
    async fn create_with_derived_name(
        &self,
        id: AutomationId,
        new: &mut NewAutomation,
        now: Timestamp,
    ) -> Result<(), Error> {
        let base = naming::derived(&new.prompt);
        let mut number = 1;
        loop {
            new.name = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            match self.create_as(id, new, now).await {
                Err(store::Error::Exists { .. }) if number < DERIVED_NAMES => number += 1,
                made => return Ok(made?),
            }
        }
    }
}
