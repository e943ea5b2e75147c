//! Tokens: the credentials of programs and of signed-in browsers.

use api_types::{Page, Token, TokenCreated, TokenRequest, TokenRevoked};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{TokenId, access::Permission};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{
    caller::Caller,
    extract::{Json, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The query parameters of the list of tokens.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListTokensParams {
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::TokenId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List tokens
///
/// Returns tokens without their secrets, the newest first. The list includes expired and revoked tokens, and the
/// tokens of signed-in browsers.
#[utoipa::path(
    get,
    path = "/tokens",
    tag = "access",
    params(ListTokensParams),
    responses((status = OK, description = "A page of tokens, without their secrets", body = Page<Token>)),
    security(("token" = ["tokens:read"]), ("browser" = []))
)]
pub(super) async fn list_tokens(
    caller: Caller,
    Query(part): Query<ListTokensParams>,
) -> Result<Answer<Page<Token>>, ApiError> {
    let service = caller.authorize(Permission::TokensRead)?;
    let after = list_params::parse_cursor(part.after.as_deref())?;
    let limit = list_params::page_limit(part.limit)?;
    Ok(Answer(service.tokens(after, limit).await?.map(Into::into)))
}

/// Show a token
///
/// Returns one token, without its secret.
#[utoipa::path(
    get,
    path = "/tokens/{token}",
    tag = "access",
    params(("token" = String, Path, description = "The ID of the token or the beginning of its ID")),
    responses((status = OK, description = "The token, without its secret", body = Token)),
    security(("token" = ["tokens:read"]), ("browser" = []))
)]
pub(super) async fn show_token(
    caller: Caller,
    Path([token]): Path<1>,
) -> Result<Answer<Token>, ApiError> {
    let service = caller.authorize(Permission::TokensRead)?;
    Ok(Answer(service.token(&token).await?.into()))
}

/// Create a token
///
/// Creates a token. No later response contains its secret. The token has no permission that the caller lacks: without
/// `scopes`, it has those permissions of its role that the caller has. It expires with the caller's token at the latest:
/// without `expires_at`, it expires exactly then, and a later `expires_at` is refused.
#[utoipa::path(
    post,
    path = "/tokens",
    tag = "access",
    params(IdempotencyKey),
    request_body = TokenRequest,
    responses((status = CREATED, description = "The token with its secret", body = TokenCreated)),
    security(("token" = ["tokens:write"]), ("browser" = []))
)]
pub(super) async fn create_token(
    caller: Caller,
    idempotency_key: IdempotencyKey,
    request: Json<TokenRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::TokensWrite)?;
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(TokenId::from_uuid);
        let permitted = caller.permissions();
        let made_by = caller.token.as_ref().map(|token| token.id);
        let token = service
            .create_token(&request.value, &permitted, made_by, id)
            .await?;
        Ok((StatusCode::CREATED, token))
    });
    created.await
}

/// The query parameters of a revocation.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RevokeTokenParams {
    /// `true` to revoke all tokens that the token made as well, directly or through others.
    #[serde(default)]
    cascade: bool,
}

/// Revoke a token
///
/// Revokes a token, and the tokens of the browsers that it signed in. With `cascade`, also revokes all tokens that it
/// made, directly or through others, and signs their browsers out. Without it, these stay valid, and `still_valid` counts
/// them. Revoking a token again does not change the token.
#[utoipa::path(
    delete,
    path = "/tokens/{token}",
    tag = "access",
    params(
        ("token" = String, Path, description = "The ID of the token or the beginning of its ID"),
        RevokeTokenParams
    ),
    responses((status = OK, description = "The token, and the effect on those that it made", body = TokenRevoked)),
    security(("token" = ["tokens:write"]), ("browser" = []))
)]
pub(super) async fn revoke_token(
    caller: Caller,
    Path([token]): Path<1>,
    Query(params): Query<RevokeTokenParams>,
) -> Result<Answer<TokenRevoked>, ApiError> {
    let service = caller.authorize(Permission::TokensWrite)?;
    Ok(Answer(service.revoke_token(&token, params.cascade).await?))
}
