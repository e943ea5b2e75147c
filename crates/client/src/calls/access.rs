//! Tenants, tokens, and how a browser signs in.

use http::Method;
use wire::{
    BudgetRequest, Page, SignInLink, Spending, Tenant, TenantCreated, TenantRequest, Token,
    TokenCreated, TokenRequest,
};

use super::{Part, Tagged};
use crate::{Client, Error};

impl Client {
    /// Lists tokens, the newest first, without their secrets.
    pub async fn tokens(&self, part: &Part) -> Result<Page<Token>, Error> {
        self.get(&["tokens"]).part(part).fetch().await
    }

    /// Shows a token, by its id, without its secret.
    pub async fn token(&self, token: &str) -> Result<Token, Error> {
        self.get(&["tokens", token]).fetch().await
    }

    /// Makes a token. Its secret is told this one time; not where an answer was lost on its way.
    pub async fn create_token(&self, request: &TokenRequest) -> Result<TokenCreated, Error> {
        self.post(&["tokens"]).json(request).once().fetch().await
    }

    /// Takes a token back, by its id.
    pub async fn revoke_token(&self, token: &str) -> Result<Token, Error> {
        self.delete(&["tokens", token]).fetch().await
    }

    /// Lists tenants, the newest first.
    pub async fn tenants(&self, part: &Part) -> Result<Page<Tenant>, Error> {
        self.get(&["tenants"]).part(part).fetch().await
    }

    /// Shows a tenant, by its id or its name.
    pub async fn tenant(&self, tenant: &str) -> Result<Tagged<Tenant>, Error> {
        self.get(&["tenants", tenant]).fetch_tagged().await
    }

    /// Tells what all runs of a tenant have used together, and what they may use.
    pub async fn tenant_spending(&self, tenant: &str) -> Result<Spending, Error> {
        self.get(&["tenants", tenant, "spending"]).fetch().await
    }

    /// Sets what all runs of a tenant may use together: with a tag, of the one that was seen alone.
    pub async fn set_tenant_budget(
        &self,
        tenant: &str,
        budget: &BudgetRequest,
        seen: Option<&str>,
    ) -> Result<Tenant, Error> {
        let call = self.call(Method::PUT, &["tenants", tenant, "budget"]);
        call.json(budget).seen(seen).fetch().await
    }

    /// Makes a tenant with the token of its first admin.
    pub async fn create_tenant(&self, request: &TenantRequest) -> Result<TenantCreated, Error> {
        self.post(&["tenants"]).json(request).once().fetch().await
    }

    /// Makes a link by which a browser signs in, once. It is told this one time; not where an answer was lost on
    /// its way.
    pub async fn create_sign_in_link(&self) -> Result<SignInLink, Error> {
        self.post(&["sign-in-links"]).once().fetch().await
    }
}
