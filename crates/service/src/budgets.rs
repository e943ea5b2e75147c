//! Budgets and usage of automations and tenants.

use api_types::BudgetUsage;
use model::{TenantId, budget::Budget, entity::Tenant};
use store::Scope;

use crate::{Error, Service, boxed};

impl Service {
    /// Returns the budget of an automation, and its usage of today and of this month.
    #[boxed]
    pub async fn automation_usage(&self, given: &str) -> Result<BudgetUsage, Error> {
        let id = self.find_automation(given).await?.id;
        let usage = self.store.automation_usage(self.scope(), id, self.now());
        Ok(usage.await?.into())
    }

    /// Returns the budget of a tenant, and the usage of all its runs of today and of this month.
    #[boxed]
    pub async fn tenant_usage(&self, tenant: TenantId) -> Result<BudgetUsage, Error> {
        let scope = Scope::Tenant(tenant);
        let usage = self.store.tenant_usage(scope, tenant, self.now());
        Ok(usage.await?.into())
    }

    /// Sets the budget of a tenant: the limits of each run, and of all runs together.
    ///
    /// # Errors
    ///
    /// Returns an error if the budget is invalid, or if it has changed since it was read as `seen`.
    #[boxed]
    pub async fn set_tenant_budget(
        &self,
        tenant: TenantId,
        seen: Option<&Budget>,
        budget: &Budget,
    ) -> Result<Tenant, Error> {
        budget.validate().map_err(|invalid| {
            // Errors name fields below `budget`, but the body of this request is the budget itself.
            let field = invalid.field().trim_start_matches("budget.");
            Error::from(invalid).at_field(field)
        })?;
        self.store
            .set_tenant_budget(tenant, seen, budget, self.now())
            .await?;
        Ok(self.store.tenant(Scope::Tenant(tenant), tenant).await?)
    }
}
