//! Tenants

use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{TenantId, access::Permission};
use service::Service;
use wire::{Page, Tenant, TenantCreated, TenantRequest};

use crate::{
    caller::Caller,
    extract::{Json, Path},
    once::Once,
    problem::Failure,
};

/// List tenants
///
/// An admin of the install's own tenant sees all, anybody else the one that they belong to.
#[utoipa::path(
    get,
    path = "/tenants",
    tag = "access",
    responses((status = OK, description = "The tenants, all on one page", body = Page<Tenant>)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn list_tenants(caller: Caller) -> Result<Answer<Page<Tenant>>, Failure> {
    let service = caller.may(Permission::TenantsRead)?;
    let tenants = service.tenants(caller.is_of_the_install()).await?;
    Ok(Answer(Page::whole(tenants)))
}

/// Show a tenant
#[utoipa::path(
    get,
    path = "/tenants/{tenant}",
    tag = "access",
    params(("tenant" = String, Path, description = "Its id or its name")),
    responses((status = OK, description = "The tenant", body = Tenant)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn show_tenant(
    caller: Caller,
    Path([tenant]): Path<1>,
) -> Result<Answer<Tenant>, Failure> {
    let service = caller.may(Permission::TenantsRead)?;
    Ok(Answer(find_tenant(&caller, &service, &tenant).await?))
}

/// The tenant of a name or an id, of those that whoever asks may see.
pub(super) async fn find_tenant(
    caller: &Caller,
    service: &Service,
    given: &str,
) -> Result<Tenant, Failure> {
    let mut tenants = service
        .tenants(caller.is_of_the_install())
        .await?
        .into_iter();
    let found = tenants.find(|one| one.name == given || one.id.to_string() == given);
    found.ok_or_else(|| Failure::not_found("tenant", given))
}

/// Create a tenant
///
/// With the token of its first admin, whose secret is shown this one time. Only admins of the install's own tenant
/// may.
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
