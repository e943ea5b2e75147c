//! Creates an automation.

use api_types::{AutomationRequest, AutomationView};
use model::{AutomationId, Timestamp};
use store::NewAutomation;

use crate::{Error, Service, boxed, naming};

/// The highest number of names, derived from one prompt, that are tried.
const MAX_DERIVED_NAMES: u32 = 1000;

impl Service {
    /// Creates an enabled automation. Returns it with its triggers and its next runs. With a reserved `id`, returns
    /// the automation that an earlier request has created.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid or the name is in use.
    #[boxed]
    pub async fn create_automation(
        &self,
        request: &AutomationRequest,
        id: Option<AutomationId>,
    ) -> Result<AutomationView, Error> {
        if let Some(id) = id {
            match self.store.automation(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                existing => return self.automation_view(existing?).await,
            }
        }
        let now = self.now();
        let mut new = self.define(request, None, now).await?;
        let id = id.unwrap_or_else(|| AutomationId::generate(now, &*self.entropy));
        if request.name.is_some() {
            self.create_if_absent(id, &new, now).await?;
        } else {
            self.create_with_derived_name(id, &mut new, now).await?;
        }
        self.automation_view(self.store.automation(self.scope(), id).await?)
            .await
    }

    /// Creates an automation, unless a concurrent copy of this request has created it.
    async fn create_if_absent(
        &self,
        id: AutomationId,
        new: &NewAutomation,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let created = self
            .store
            .create_automation(self.tenant, Some(id), new, now)
            .await;
        match created {
            Ok(_) | Err(store::Error::AlreadyCreated { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates an automation with the first free name that its prompt gives, such as `check-the-build` or
    /// `check-the-build-2`. The unique index decides which name is free, so that concurrent requests get different
    /// names.
    async fn create_with_derived_name(
        &self,
        id: AutomationId,
        new: &mut NewAutomation,
        now: Timestamp,
    ) -> Result<(), Error> {
        let base = naming::derive_name(&new.prompt);
        let mut number = 1;
        loop {
            new.name = match number {
                1 => base.clone(),
                number => format!("{base}-{number}"),
            };
            match self.create_if_absent(id, new, now).await {
                Err(store::Error::NameTaken { .. }) if number < MAX_DERIVED_NAMES => number += 1,
                created => return Ok(created?),
            }
        }
    }
}
