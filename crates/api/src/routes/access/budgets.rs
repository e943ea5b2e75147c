//! Budgets of tenants

use axum::Json as Answer;
use model::{access::Permission, budget::Budget};
use wire::{Spending, Tenant};

use super::tenants::find_tenant;
use crate::{
    caller::Caller,
    extract::{Json, Path},
    problem::Failure,
};

/// Show what a tenant has used
///
/// All its runs together, today and this month, in UTC, beside its budget.
#[utoipa::path(
    get,
    path = "/tenants/{tenant}/spending",
    tag = "access",
    params(("tenant" = String, Path, description = "Its id or its name")),
    responses((status = OK, description = "What it has used", body = Spending)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn show_tenant_spending(
    caller: Caller,
    Path([tenant]): Path<1>,
) -> Result<Answer<Spending>, Failure> {
    let service = caller.may(Permission::TenantsRead)?;
    let tenant = find_tenant(&caller, &service, &tenant).await?;
    Ok(Answer(service.tenant_spending(tenant.id).await?))
}

/// Set the budget of a tenant
///
/// In place of the one that it had. It holds for every turn of the tenant that begins from now on. Runs that wait
/// because the one before was used up look at this one. Only admins of the install's own tenant may.
#[utoipa::path(
    put,
    path = "/tenants/{tenant}/budget",
    tag = "access",
    params(("tenant" = String, Path, description = "Its id or its name")),
    request_body = Budget,
    responses((status = OK, description = "The tenant", body = Tenant)),
    security(("token" = ["tenants:write"]), ("browser" = []))
)]
pub(super) async fn set_tenant_budget(
    caller: Caller,
    Path([tenant]): Path<1>,
    budget: Json<Budget>,
) -> Result<Answer<Tenant>, Failure> {
    let service = caller.may(Permission::TenantsWrite)?;
    let tenant = find_tenant(&caller, &service, &tenant).await?;
    if !caller.is_of_the_install() {
        return Err(Failure::forbidden(
            "failed to set the budget of a tenant: only admins of the install's own tenant may",
        ));
    }
    let set = service.set_tenant_budget(tenant.id, &budget.value).await?;
    caller.wake();
    Ok(Answer(set))
}
