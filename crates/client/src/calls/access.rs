//! Operations on tenants and tokens, and the sign-in of browsers.

use api_types::{
    BudgetRequest, BudgetUsage, Page, SignInLink, Tenant, TenantCreated, TenantRequest, Token,
    TokenCreated, TokenRequest, TokenRevoked,
};
use http::Method;

use super::{PageParams, Tagged};
use crate::{Client, Error, boxed};

impl Client {
    /// Lists tokens, the newest first, without their secrets.
    #[boxed]
    pub async fn tokens(&self, part: &PageParams) -> Result<Page<Token>, Error> {
        self.get(&["tokens"]).page(part).fetch().await
    }

    /// Returns a token without its secret, by its ID.
    #[boxed]
    pub async fn token(&self, token: &str) -> Result<Token, Error> {
        self.get(&["tokens", token]).fetch().await
    }

    /// Creates a token. The response has the secret, unless it repeats an earlier one that was lost on its way.
    #[boxed]
    pub async fn create_token(&self, request: &TokenRequest) -> Result<TokenCreated, Error> {
        self.post(&["tokens"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Revokes a token, by its ID. With `cascade`, also revokes all tokens that it made, directly or through others.
    #[boxed]
    pub async fn revoke_token(&self, token: &str, cascade: bool) -> Result<TokenRevoked, Error> {
        let call = self.delete(&["tokens", token]);
        call.flag("cascade", cascade).fetch().await
    }

    /// Lists tenants, the newest first.
    #[boxed]
    pub async fn tenants(&self, part: &PageParams) -> Result<Page<Tenant>, Error> {
        self.get(&["tenants"]).page(part).fetch().await
    }

    /// Returns a tenant, by its ID or its name.
    #[boxed]
    pub async fn tenant(&self, tenant: &str) -> Result<Tagged<Tenant>, Error> {
        self.get(&["tenants", tenant]).fetch_tagged().await
    }

    /// Returns the budget of a tenant, and the usage of all its runs.
    #[boxed]
    pub async fn tenant_usage(&self, tenant: &str) -> Result<BudgetUsage, Error> {
        self.get(&["tenants", tenant, "usage"]).fetch().await
    }

    /// Replaces the budget of a tenant. With an entity tag, the server refuses if the tenant has changed since.
    #[boxed]
    pub async fn set_tenant_budget(
        &self,
        tenant: &str,
        budget: &BudgetRequest,
        seen: Option<&str>,
    ) -> Result<Tenant, Error> {
        let call = self.call(Method::PUT, &["tenants", tenant, "budget"]);
        call.json(budget).if_match(seen).fetch().await
    }

    /// Creates a tenant, and a token for its first admin.
    #[boxed]
    pub async fn create_tenant(&self, request: &TenantRequest) -> Result<TenantCreated, Error> {
        self.post(&["tenants"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Creates a link that signs a browser in once. The response has the link, unless it repeats an earlier one that
    /// was lost on its way.
    #[boxed]
    pub async fn create_sign_in_link(&self) -> Result<SignInLink, Error> {
        self.post(&["sign-in-links"]).idempotent().fetch().await
    }
}
