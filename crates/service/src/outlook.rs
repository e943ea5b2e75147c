//! What is to come, for whoever starts to serve.

use wire::AutomationView;

use crate::{Error, Service};

/// What there is to serve.
#[derive(Debug, Clone)]
pub struct Outlook {
    /// How many automations there are.
    pub automations: u64,
    /// The one that is due next.
    pub next: Option<AutomationView>,
}

impl Service {
    /// Looks at what there is to serve, without reading all of it.
    pub async fn outlook(&self) -> Result<Outlook, Error> {
        let (automations, next) = self.store.automations_outlook(self.scope()).await?;
        let next = match next {
            // By its id: finding one by its name reads them all.
            Some(id) => {
                let automation = self.store.automation(self.scope(), id).await?;
                Some(self.automation_view(automation).await?)
            }
            None => None,
        };
        Ok(Outlook { automations, next })
    }
}
