//! Tenants: the owners of all other data. No data crosses from one tenant to another.

use api_types::{Page, Tenant, TenantCreated, TenantRequest};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{TenantId, access::Permission};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{
    caller::Caller,
    etag::{self, ETag},
    extract::{Json, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The query parameters of the list of tenants.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListTenantsParams {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<TenantId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List tenants
///
/// Returns tenants, the newest first. Callers of the install's own tenant see all tenants; all other callers see
/// their own tenant.
#[utoipa::path(
    get,
    path = "/tenants",
    tag = "access",
    params(ListTenantsParams),
    responses((status = OK, description = "A page of tenants", body = Page<Tenant>)),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn list_tenants(
    caller: Caller,
    Query(part): Query<ListTenantsParams>,
) -> Result<Answer<Page<Tenant>>, ApiError> {
    let service = caller.authorize(Permission::TenantsRead)?;
    let after = list_params::parse_cursor(part.after.as_deref())?;
    let limit = list_params::page_limit(part.limit)?;
    let all = caller.is_in_install_tenant();
    let page = service.tenants(all, after, limit).await?;
    Ok(Answer(page.map(Into::into)))
}

/// Show a tenant
///
/// Returns one tenant with its budget. Returns 404 for another tenant than the caller's, unless the caller belongs to
/// the install's own tenant.
#[utoipa::path(
    get,
    path = "/tenants/{tenant}",
    tag = "access",
    params(("tenant" = String, Path, description = "The ID or the name of the tenant")),
    responses((
        status = OK,
        description = "The tenant",
        body = Tenant,
        headers(("ETag" = String, description = "The entity tag of the budget, the editable part"))
    )),
    security(("token" = ["tenants:read"]), ("browser" = []))
)]
pub(super) async fn show_tenant(
    caller: Caller,
    Path([tenant]): Path<1>,
) -> Result<(ETag, Answer<Tenant>), ApiError> {
    let service = caller.authorize(Permission::TenantsRead)?;
    let all = caller.is_in_install_tenant();
    let found = service.tenant(all, &tenant).await?;
    Ok((etag::budget_header(&found.budget), Answer(found.into())))
}

/// Create a tenant
///
/// Creates a tenant with the known agents, and a token for its first admin, which expires with the caller's token. No
/// later response contains the secret of the token. Returns 403 unless the caller belongs to the install's own tenant.
#[utoipa::path(
    post,
    path = "/tenants",
    tag = "access",
    params(IdempotencyKey),
    request_body = TenantRequest,
    responses((status = CREATED, description = "The tenant, with a token", body = TenantCreated)),
    security(("token" = ["tenants:write"]), ("browser" = []))
)]
pub(super) async fn create_tenant(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<TenantRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::TenantsWrite)?;
    if !caller.is_in_install_tenant() {
        return Err(ApiError::forbidden(
            "only admins of the install's own tenant may create a tenant",
        ));
    }
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(TenantId::from_uuid);
        let made_by = caller.token.as_ref().map(|token| token.id);
        let demo_command = &caller.api.shared.demo_command;
        let created = service
            .create_tenant(&request.value.name, made_by, id, demo_command)
            .await?;
        Ok((StatusCode::CREATED, created))
    });
    created.await
}
