//! Budgets of tenants, and the usage that counts against them.

use api_types::{BudgetRequest, BudgetUsage, Tenant};
use axum::Json as Answer;
use model::{access::Permission, budget::Budget};

use crate::{
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, Path},
    problem::ApiError,
};

/// Show the usage of a tenant
///
/// Returns the usage of all runs of the tenant, of this day and of this month in UTC, beside the budget of the
/// tenant. An admin of the install's own tenant may name any tenant; all other callers may name their own.
#[utoipa::path(
    get,
    path = "/tenants/{tenant}/usage",
    tag = "access",
    params(("tenant" = String, Path, description = "The ID or the name of the tenant")),
    responses((status = OK, description = "The budget and the usage", body = BudgetUsage)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn show_tenant_usage(
    caller: Caller,
    Path([tenant]): Path<1>,
) -> Result<Answer<BudgetUsage>, ApiError> {
    let service = caller.authorize(Permission::TenantsRead)?;
    let all = caller.is_in_install_tenant();
    let tenant = service.tenant(all, &tenant).await?;
    Ok(Answer(service.tenant_usage(tenant.id).await?))
}

/// Set the budget of a tenant
///
/// Replaces the whole budget that all runs of a tenant share. The new budget applies to each turn that begins from
/// now on, and to runs that wait because the previous budget is used up. Returns 403 unless the caller belongs to the
/// install's own tenant, and 412 if `If-Match` is set and the budget has changed.
#[utoipa::path(
    put,
    path = "/tenants/{tenant}/budget",
    tag = "access",
    params(
        ("tenant" = String, Path, description = "The ID or the name of the tenant"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = BudgetRequest,
    responses((
        status = OK,
        description = "The tenant",
        body = Tenant,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["tenants:write"]), ("browser" = []))
)]
pub(super) async fn set_tenant_budget(
    caller: Caller,
    Path([tenant]): Path<1>,
    seen: IfMatch,
    budget: Json<BudgetRequest>,
) -> Result<(ETag, Answer<Tenant>), ApiError> {
    let service = caller.authorize(Permission::TenantsWrite)?;
    let all = caller.is_in_install_tenant();
    let tenant = service.tenant(all, &tenant).await?;
    if !all {
        return Err(ApiError::forbidden(
            "only admins of the install's own tenant may set the budget of a tenant",
        ));
    }
    seen.check("the budget", &BudgetRequest::from(tenant.budget.clone()))?;
    let before = seen.is_given().then_some(&tenant.budget);
    let budget = Budget::from(budget.value);
    let set = service.set_tenant_budget(tenant.id, before, &budget);
    let set = set.await?;
    // Runs that wait for the budget may start now.
    caller.wake_loops();
    Ok((etag::budget_header(&set.budget), Answer(set.into())))
}
