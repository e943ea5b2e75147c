//! Sign-in of browsers: a link with a code that works once, which the browser exchanges for a cookie.

use std::net::IpAddr;

use api_types::{SignInCode, SignInLink};
use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use model::{
    TokenId,
    access::{
        Token, TokenKind,
        secret::{LinkSecret, TokenSecret},
    },
};

use crate::{
    Api, Peer,
    caller::{Caller, unauthenticated},
    cookie,
    extract::Json,
    idempotency::IdempotencyKey,
    problem::ApiError,
    request_guard,
};

/// Create a sign-in link
///
/// Creates a link that signs one browser in, once, within ten minutes. The browser gets the permissions of the
/// caller's token and is signed out when that token is revoked. No later response contains the path of the link.
#[utoipa::path(
    post,
    path = "/sign-in-links",
    tag = "access",
    params(IdempotencyKey),
    responses((status = CREATED, description = "The link", body = SignInLink)),
    security(("token" = []), ("browser" = []))
)]
pub(super) async fn create_sign_in_link(
    caller: Caller,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.api.service(caller.tenant);
    let token = caller.token.as_ref().map(|token| token.id);
    // The path contains the code of the link, so that the recorded response must not keep it.
    let created = idempotency_key.create_redacting(&caller, &[], "path", async |id| {
        let id = id.map(TokenId::from_uuid);
        let link = service.create_sign_in_link(token, id).await?;
        Ok((StatusCode::CREATED, link))
    });
    created.await
}

/// Sign a browser in
///
/// Exchanges the code of a sign-in link for a cookie, once. Scripts cannot read the cookie, and pages of other sites
/// cannot make a browser send it. Returns 401 if the link has expired or was used before, and 429 after too many
/// attempts from one address.
#[utoipa::path(
    post,
    path = "/sign-in",
    tag = "access",
    request_body = SignInCode,
    responses((status = NO_CONTENT, description = "The cookie is set")),
    security(())
)]
pub(super) async fn sign_in(
    State(api): State<Api>,
    ClientAddress(from): ClientAddress,
    headers: HeaderMap,
    request: Json<SignInCode>,
) -> Result<Response, ApiError> {
    // Requests over the private socket come from the owner of the data folder. Only requests over the network are
    // limited, and must come from a page of this server: another page could otherwise sign the browser in with its
    // own code, and the person would work under a stranger's token.
    if let Some(from) = from {
        api.shared.sign_in_limiter.check_attempt(from)?;
        request_guard::require_same_origin(&headers)?;
    }
    let invalid_link =
        || unauthenticated("the sign-in link is invalid, has expired or was used before");
    let code = LinkSecret::parse(&request.value.code).map_err(|_| invalid_link())?;
    let secret = TokenSecret::generate(&*api.shared.entropy);
    let service = api.service(api.shared.tenant);
    let signed_in = service.use_sign_in_link(&code, &secret).await?;
    let seconds = signed_in.ok_or_else(invalid_link)?;
    let cookie = cookie::set_header(&secret, seconds, api.shared.by_tls);
    Ok(no_content_with_cookie(cookie))
}

/// Sign a browser out
///
/// Revokes the token behind the cookie of a browser and removes the cookie. The token of a program stays valid if the
/// request shows one.
#[utoipa::path(
    delete,
    path = "/sign-in",
    tag = "access",
    responses((status = NO_CONTENT, description = "The cookie is removed")),
    security(("token" = []), ("browser" = []))
)]
pub(super) async fn sign_out(caller: Caller) -> Result<Response, ApiError> {
    // A request with an `Authorization` header is authenticated by that token. Do not revoke it: it belongs to a
    // program.
    let browser = |token: &&Token| token.kind == TokenKind::Browser;
    if let Some(token) = caller.token.as_ref().filter(browser) {
        let service = caller.api.service(caller.tenant);
        service.revoke_token(&token.id.to_string(), false).await?;
    }
    Ok(no_content_with_cookie(cookie::delete_header(
        caller.api.shared.by_tls,
    )))
}

fn no_content_with_cookie(cookie: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The IP address of the client; `None` for the private socket.
pub(super) struct ClientAddress(Option<IpAddr>);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(match parts.extensions.get::<Peer>() {
            Some(Peer::Network(address)) => Some(address.ip()),
            Some(Peer::Private | Peer::Agent) | None => None,
        }))
    }
}
