//! Budgets of tenants, and what was used of those of automations and tenants.

use model::{TenantId, budget::Budget, entity::Tenant};
use store::Scope;
use wire::Spending;

use crate::{Error, Service};

impl Service {
    /// What an automation may use, and what it has used today and this month.
    pub async fn automation_spending(&self, given: &str) -> Result<Spending, Error> {
        let id = self.find_automation(given).await?.id;
        let spending = self.store.automation_spending(self.scope(), id, self.now());
        Ok(spending.await?.into())
    }

    /// What all runs of a tenant may use together, and what they have used today and this month.
    pub async fn tenant_spending(&self, tenant: TenantId) -> Result<Spending, Error> {
        let scope = Scope::Tenant(tenant);
        let spending = self.store.tenant_spending(scope, tenant, self.now());
        Ok(spending.await?.into())
    }

    /// Sets what all runs of a tenant may use together, and each of them. Where it was `seen`, and is something
    /// else by now, that is refused.
    pub async fn set_tenant_budget(
        &self,
        tenant: TenantId,
        seen: Option<&Budget>,
        budget: &Budget,
    ) -> Result<Tenant, Error> {
        budget.validate().map_err(|invalid| {
            // Here the budget is the whole body.
            let field = invalid.field().trim_start_matches("budget.");
            Error::from(invalid).in_field(field)
        })?;
        self.store
            .set_tenant_budget(tenant, seen, budget, self.now())
            .await?;
        Ok(self.store.tenant(Scope::Tenant(tenant), tenant).await?)
    }
}
