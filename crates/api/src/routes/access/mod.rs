//! Access: tenants and their budgets, tokens, and the sign-in of browsers.

mod budgets;
mod sign_in;
mod tenants;
mod tokens;

use crate::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(tokens::list_tokens, tokens::create_token))
        .routes(routes!(tokens::show_token, tokens::revoke_token))
        .routes(routes!(tenants::list_tenants, tenants::create_tenant))
        .routes(routes!(tenants::show_tenant))
        .routes(routes!(budgets::show_tenant_usage))
        .routes(routes!(budgets::set_tenant_budget))
        .routes(routes!(sign_in::create_sign_in_link))
        .routes(routes!(sign_in::sign_in, sign_in::sign_out))
}
