//! A summary of the automations, for the start of a server.

use api_types::AutomationView;

use crate::{Error, Service, boxed};

/// A summary of the automations.
#[derive(Debug, Clone)]
pub struct AutomationSummary {
    /// The number of automations.
    pub automations: u64,
    /// The automation that is due next.
    pub next_due: Option<AutomationView>,
}

impl Service {
    /// Returns a summary of the automations without reading each of them.
    #[boxed]
    pub async fn automation_summary(&self) -> Result<AutomationSummary, Error> {
        let (automations, next) = self.store.automation_summary(self.scope()).await?;
        let next = match next {
            // Read by ID, because `Service::automation` would look the text up as a name first.
            Some(id) => {
                let automation = self.store.automation(self.scope(), id).await?;
                Some(self.automation_view(automation).await?)
            }
            None => None,
        };
        Ok(AutomationSummary {
            automations,
            next_due: next,
        })
    }
}
