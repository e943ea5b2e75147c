//! Approvals: permission requests of agents that wait for the decision of a person.

use api_types::{Approval, ApprovalInput, DecisionRequest, Page};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{
    access::Permission,
    approval::{ApprovalStatus, Decider},
    permission::Verdict,
};
use serde::Deserialize;
use service::ApprovalQuery;
use utoipa::IntoParams;

use super::list_params::{self, StateFilter};
use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{OptionalJson, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The description of the path parameter that names an approval.
const APPROVAL_PARAM_DESCRIPTION: &str = "The ID of the approval or the beginning of its ID";

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_approvals))
        .routes(routes!(show_approval))
        .routes(routes!(show_approval_input))
        .routes(routes!(allow_approval))
        .routes(routes!(deny_approval))
}

/// The query parameters of the list of approvals.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListApprovalsParams {
    /// The state of the approvals, or `any` for approvals in all states. The default is `pending`.
    #[param(
        value_type = Option<String>,
        pattern = "^(pending|allowed|denied|expired|void|any)$",
        example = "pending"
    )]
    state: Option<StateFilter<ApprovalStatus>>,
    /// The session of the approvals: its ID, the beginning of its ID, or its key.
    session: Option<String>,
    /// The automation of the approvals: its name, its ID, or the beginning of its ID.
    automation: Option<String>,
    /// The run of the approvals: its ID or the beginning of its ID.
    run: Option<String>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::ApprovalId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List approvals
///
/// Returns the permission requests of agents, the newest first. Without a filter it returns the pending ones.
#[utoipa::path(
    get,
    path = "/approvals",
    tag = "approvals",
    params(ListApprovalsParams),
    responses((status = OK, description = "A page of approvals", body = Page<Approval>)),
    security(("token" = ["approvals:read"]), ("browser" = []))
)]
async fn list_approvals(
    caller: Caller,
    Query(filter): Query<ListApprovalsParams>,
) -> Result<Answer<Page<Approval>>, ApiError> {
    let service = caller.authorize(Permission::ApprovalsRead)?;
    let query = ApprovalQuery {
        state: filter
            .state
            .map_or(Some(ApprovalStatus::Pending), |it| it.0),
        session: filter.session,
        automation: filter.automation,
        run: filter.run,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Answer(service.approvals(&query).await?.map(Into::into)))
}

/// Show an approval
///
/// Returns one permission request with its state and its decision.
#[utoipa::path(
    get,
    path = "/approvals/{approval}",
    tag = "approvals",
    params(("approval" = String, Path, description = APPROVAL_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The approval", body = Approval)),
    security(("token" = ["approvals:read"]), ("browser" = []))
)]
async fn show_approval(
    caller: Caller,
    Path([approval]): Path<1>,
) -> Result<Answer<Approval>, ApiError> {
    let service = caller.authorize(Permission::ApprovalsRead)?;
    Ok(Answer(service.approval(&approval).await?.into()))
}

/// Show the input of an approval
///
/// Returns the input of the tool, whole up to 1 MiB. A longer input is cut, and so is an input of more than 16 KiB in
/// an approval that an earlier version of Matins stored; the response says so.
#[utoipa::path(
    get,
    path = "/approvals/{approval}/input",
    tag = "approvals",
    params(("approval" = String, Path, description = APPROVAL_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The input of the tool", body = ApprovalInput)),
    security(("token" = ["approvals:read"]), ("browser" = []))
)]
async fn show_approval_input(
    caller: Caller,
    Path([approval]): Path<1>,
) -> Result<Answer<ApprovalInput>, ApiError> {
    let service = caller.authorize(Permission::ApprovalsRead)?;
    Ok(Answer(service.approval_input(&approval).await?))
}

/// Allow an approval
///
/// Allows one permission request of one attempt. A later request of the same agent needs a decision of its own.
/// Returns 409 with the state of the approval if it is no longer pending, because it was decided, it expired, or its
/// attempt has ended.
#[utoipa::path(
    post,
    path = "/approvals/{approval}/allow",
    tag = "approvals",
    params(("approval" = String, Path, description = APPROVAL_PARAM_DESCRIPTION), IdempotencyKey),
    request_body = Option<DecisionRequest>,
    responses((status = OK, description = "The approval, decided", body = Approval)),
    security(("token" = ["approvals:write"]), ("browser" = []))
)]
async fn allow_approval(
    caller: Caller,
    Path([approval]): Path<1>,
    idempotency_key: IdempotencyKey,
    OptionalJson(request): OptionalJson<DecisionRequest>,
) -> Result<Response, ApiError> {
    decide(
        &caller,
        &approval,
        Verdict::Allow,
        idempotency_key,
        &request,
    )
    .await
}

/// Deny an approval
///
/// Denies one permission request of one attempt. Returns 409 with the state of the approval if it is no longer
/// pending, because it was decided, it expired, or its attempt has ended. The server denies a request that expires by
/// itself.
#[utoipa::path(
    post,
    path = "/approvals/{approval}/deny",
    tag = "approvals",
    params(("approval" = String, Path, description = APPROVAL_PARAM_DESCRIPTION), IdempotencyKey),
    request_body = Option<DecisionRequest>,
    responses((status = OK, description = "The approval, decided", body = Approval)),
    security(("token" = ["approvals:write"]), ("browser" = []))
)]
async fn deny_approval(
    caller: Caller,
    Path([approval]): Path<1>,
    idempotency_key: IdempotencyKey,
    OptionalJson(request): OptionalJson<DecisionRequest>,
) -> Result<Response, ApiError> {
    decide(&caller, &approval, Verdict::Deny, idempotency_key, &request).await
}

/// Records a decision and returns the approval.
async fn decide(
    caller: &Caller,
    approval: &str,
    verdict: Verdict,
    idempotency_key: IdempotencyKey,
    request: &DecisionRequest,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::ApprovalsWrite)?;
    let by = decider(caller);
    let comment = request.comment.as_deref().unwrap_or_default().as_bytes();
    let decided = idempotency_key.create_with_body(caller, comment, async |id| {
        // With a key, the same request may have decided the approval before the server stopped. The service then
        // returns that decision instead of 409.
        let decided = service.decide(approval, verdict, request, &by, id.is_some());
        Ok((StatusCode::OK, Approval::from(decided.await?)))
    });
    decided.await
}

/// Returns the author of a decision or of an answer. The name is a copy, so that it stays when the token is renamed or removed.
pub(super) fn decider(caller: &Caller) -> Decider {
    Decider {
        token: caller.token.as_ref().map(|token| token.id),
        name: caller.name().to_owned(),
    }
}
