//! How a browser signs in: by a link that works once

use std::net::IpAddr;

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
use wire::{SignInCode, SignInLink};

use crate::{
    Api, Peer,
    caller::{Caller, unauthenticated},
    cookie,
    extract::Json,
    gate,
    once::Once,
    problem::Failure,
};

/// Create a sign-in link
///
/// Creates a link that signs a browser in with the token of the caller, once, within ten minutes. The response shows
/// its path this one time.
#[utoipa::path(
    post,
    path = "/sign-in-links",
    tag = "access",
    params(Once),
    responses((status = CREATED, description = "The link", body = SignInLink)),
    security(("token" = []), ("browser" = []))
)]
pub(super) async fn create_sign_in_link(caller: Caller, once: Once) -> Result<Response, Failure> {
    let service = caller.api.service(caller.tenant);
    let token = caller.token.as_ref().map(|token| token.id);
    // The code stands in the path.
    let made = once.create_hiding(&caller, &[], "path", async |id| {
        let id = id.map(TokenId::from_uuid);
        let link = service.create_sign_in_link(token, id).await?;
        Ok((StatusCode::CREATED, link))
    });
    made.await
}

/// Sign a browser in
///
/// Exchanges the code of a sign-in link for a cookie, once. Scripts cannot read the cookie, and pages of other sites
/// cannot make a browser send it.
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
    From(from): From,
    headers: HeaderMap,
    request: Json<SignInCode>,
) -> Result<Response, Failure> {
    if let Some(from) = from {
        api.shared.sign_ins.attempt(from)?;
        gate::sent_by_our_page(&headers)?;
    }
    let worthless = || unauthenticated("the link has expired, or was used before");
    let code = LinkSecret::parse(&request.value.code).map_err(|_| worthless())?;
    let secret = TokenSecret::generate(&*api.shared.entropy);
    let service = api.service(api.shared.tenant);
    let signed_in = service.use_sign_in_link(&code, &secret).await?;
    let seconds = signed_in.ok_or_else(worthless)?;
    let cookie = cookie::keep(&secret, seconds, api.shared.by_tls);
    Ok(with_cookie(cookie))
}

/// Sign a browser out
///
/// Revokes the cookie of a browser. The token of a program stays valid.
#[utoipa::path(
    delete,
    path = "/sign-in",
    tag = "access",
    responses((status = NO_CONTENT, description = "The cookie is gone")),
    security(("token" = []), ("browser" = []))
)]
pub(super) async fn sign_out(caller: Caller) -> Result<Response, Failure> {
    // The token of a program that shows a cookie, too, is nothing that a browser may end.
    let browser = |token: &&Token| token.kind == TokenKind::Browser;
    if let Some(token) = caller.token.as_ref().filter(browser) {
        let service = caller.api.service(caller.tenant);
        service.revoke_token(&token.id.to_string()).await?;
    }
    Ok(with_cookie(cookie::forget(caller.api.shared.by_tls)))
}

fn with_cookie(cookie: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The address from which a request comes; none for the private socket.
pub(super) struct From(Option<IpAddr>);

impl<S: Send + Sync> FromRequestParts<S> for From {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Ok(Self(match parts.extensions.get::<Peer>() {
            Some(Peer::Network(address)) => Some(address.ip()),
            Some(Peer::Private) | None => None,
        }))
    }
}
