//! Tenants

use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{TenantId, access::Permission};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{Page, Tenant, TenantCreated, TenantRequest};

use super::super::lists;
use crate::{
    caller::Caller,
    etag::{self, ETag},
    extract::{Json, Path, Query},
    once::Once,
    problem::Failure,
};

/// Which part of the list of tenants is shown.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// What `next` of the page before said.
    #[param(value_type = Option<TenantId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List tenants
///
/// Returns tenants, the newest first. An admin of the install's own tenant sees all of them; all other callers see
/// their own.
#[utoipa::path(
    get,
    path = "/tenants",
    tag = "access",
    params(Part),
    responses((status = OK, description = "A page of tenants", body = Page<Tenant>)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn list_tenants(
    caller: Caller,
    Query(part): Query<Part>,
) -> Result<Answer<Page<Tenant>>, Failure> {
    let service = caller.may(Permission::TenantsRead)?;
    let after = lists::after(part.after.as_deref())?;
    let limit = lists::limit(part.limit)?;
    let all = caller.is_of_the_install();
    let page = service.tenants(all, after, limit).await?;
    Ok(Answer(page.map(Into::into)))
}

/// Show a tenant
///
/// Returns one tenant with its budget.
#[utoipa::path(
    get,
    path = "/tenants/{tenant}",
    tag = "access",
    params(("tenant" = String, Path, description = "Its id or its name")),
    responses((
        status = OK,
        description = "The tenant",
        body = Tenant,
        headers(("ETag" = String, description = "Its budget, which is what can be edited"))
    )),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn show_tenant(
    caller: Caller,
    Path([tenant]): Path<1>,
) -> Result<(ETag, Answer<Tenant>), Failure> {
    let service = caller.may(Permission::TenantsRead)?;
    let all = caller.is_of_the_install();
    let found = service.tenant(all, &tenant).await?;
    Ok((etag::of_budget(&found.budget), Answer(found.into())))
}

/// Create a tenant
///
/// Creates a tenant with the token of its first admin, whose secret is shown this one time. Only admins of the
/// install's own tenant may do this.
#[utoipa::path(
    post,
    path = "/tenants",
    tag = "access",
    params(Once),
    request_body = TenantRequest,
    responses((status = CREATED, description = "The tenant, with a token", body = TenantCreated)),
    security(("token" = ["tenants:write"]), ("browser" = []))
)]
pub(super) async fn create_tenant(
    caller: Caller,
    once: Once,
    request: Json<TenantRequest>,
) -> Result<Response, Failure> {
    let service = caller.may(Permission::TenantsWrite)?;
    if !caller.is_of_the_install() {
        return Err(Failure::forbidden(
            "failed to make a tenant: only admins of the install's own tenant may",
        ));
    }
    let made = once.create(&caller, &request, async |id| {
        let id = id.map(TenantId::from_uuid);
        let created = service
            .create_tenant(&request.value.name, id, &caller.api.shared.demo_command)
            .await?;
        Ok((StatusCode::CREATED, created))
    });
    made.await
}
