//! Authentication and authorization: the caller of a request, found by a bearer token, by the cookie of a browser, or
//! by the private socket.
//!
//! **Invariant:** the bearer token wins over the socket and over the cookie, so that a program has the permissions of
//! the token that it shows, wherever it connects.

use api_types::ProblemKind;
use axum::extract::FromRequestParts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use model::{
    TenantId, Timestamp,
    access::{Permission, Role, Token, TokenKind, secret::TokenSecret},
    caller_name::SOCKET_CALLER_NAME,
};
use service::{Service, UnifiedMode};

use crate::{Api, Peer, cookie, extract::is_safe, problem::ApiError, request_guard};

/// The authenticated sender of a request. [`Caller::authorize`] checks the permissions.
pub(crate) struct Caller {
    pub(crate) api: Api,
    /// The tenant of the token; over the private socket, that of the install.
    pub(crate) tenant: TenantId,
    /// The token that the request shows. `None` over the private socket without a token: such a caller is an admin.
    pub(crate) token: Option<Token>,
}

impl Caller {
    /// Returns the service of the caller's tenant if the caller has a permission.
    ///
    /// # Errors
    ///
    /// Returns 403 with the name of the permission if the caller lacks it.
    pub(crate) fn authorize(&self, permission: Permission) -> Result<Service, ApiError> {
        let permitted = match &self.token {
            None => true,
            Some(token) => token.permits(permission),
        };
        if permitted {
            let service = self.api.service(self.tenant);
            return Ok(service.with_unified_mode(UnifiedMode {
                enabled: self.api.shared.unified,
                by_browser: self.is_browser(),
            }));
        }
        Err(ApiError::forbidden(format!(
            "this token lacks the permission `{permission}`"
        )))
    }

    /// `true` if the caller is a browser that a person signed in.
    fn is_browser(&self) -> bool {
        let token = self.token.as_ref();
        token.is_some_and(|token| token.kind == TokenKind::Browser)
    }

    /// Returns the name of the caller for records: the name of the token, or `socket` without one.
    pub(crate) fn name(&self) -> &str {
        self.token
            .as_ref()
            .map_or(SOCKET_CALLER_NAME, |token| &token.name)
    }

    /// Returns the role of the caller. A caller without a token came over the private socket and is an admin.
    pub(crate) fn role(&self) -> Role {
        self.token.as_ref().map_or(Role::Admin, |token| token.role)
    }

    /// Returns all permissions of the caller.
    pub(crate) fn permissions(&self) -> Vec<Permission> {
        let all = Permission::ALL.iter().copied();
        all.filter(|permission| {
            let token = self.token.as_ref();
            token.is_none_or(|token| token.permits(*permission))
        })
        .collect()
    }

    /// `true` if the caller belongs to the install's own tenant, whose admins may create other tenants.
    pub(crate) fn is_in_install_tenant(&self) -> bool {
        self.tenant == self.api.shared.tenant
    }

    /// Returns the present instant of the server's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.api.shared.clock.now()
    }

    /// Wakes the worker loops of this process, so that they poll now and not at their next tick.
    pub(crate) fn wake_loops(&self) {
        (self.api.shared.wake_loops)();
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        let token = authenticate(parts, api).await?;
        // The roles of processes have no permission, and some operations need none.
        if let Some(Role::Runtime | Role::Run) = token.as_ref().map(|token| token.role) {
            return Err(ApiError::forbidden(
                "the token of a runtime has no permission for this operation: it takes the turns of its instance alone",
            ));
        }
        Ok(Self {
            api: api.clone(),
            tenant: token
                .as_ref()
                .map_or(api.shared.tenant, |token| token.tenant_id),
            token,
        })
    }
}

/// Returns the token of a request. Returns `None` if the request came over the private socket without a token.
///
/// # Errors
///
/// Returns 401 if the request shows no valid token.
pub(crate) async fn authenticate(parts: &Parts, api: &Api) -> Result<Option<Token>, ApiError> {
    let private = parts.extensions.get::<Peer>() == Some(&Peer::Private);
    let secret = match bearer_token(&parts.headers)? {
        Some(secret) => secret,
        None if private => return Ok(None),
        None => cookie_token(&parts.method, &parts.headers)?,
    };
    // The store looks tokens of all tenants up by a hash, so that the tenant follows from the secret, and no client can
    // name one. An unknown, an expired and a revoked token get the same response.
    let now = api.shared.clock.now();
    let found = api.shared.store.token_by_hash(&secret.hash(), now).await?;
    let token = found.ok_or_else(|| unauthenticated("the token is unknown, expired or revoked"))?;
    api.shared
        .token_uses
        .record(&api.shared.store, token.id, now);
    Ok(Some(token))
}

/// Reads the token of the header `Authorization`.
///
/// Returns `None` if the request has no such header.
///
/// # Errors
///
/// Returns 401 if the header is not exactly one bearer token. Two headers are refused, because a proxy in front of
/// this server may have checked the other one.
fn bearer_token(headers: &HeaderMap) -> Result<Option<TokenSecret>, ApiError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let Some(first) = first else { return Ok(None) };
    let accepted =
        "invalid `Authorization`: accepted is one header `Authorization: Bearer mat_...`";
    if second.is_some() {
        return Err(unauthenticated(accepted));
    }
    let text = first.to_str().map_err(|_| unauthenticated(accepted))?;
    let (scheme, secret) = text
        .split_once(' ')
        .ok_or_else(|| unauthenticated(accepted))?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unauthenticated(accepted));
    }
    let secret = TokenSecret::parse(secret.trim());
    secret
        .map(Some)
        .map_err(|error| unauthenticated(&format!("invalid token: {error}")))
}

/// Reads the token of a signed-in browser.
///
/// # Errors
///
/// Returns 401 if no valid cookie came, and 403 if a method that changes something was not sent by a page of this
/// server.
fn cookie_token(method: &Method, headers: &HeaderMap) -> Result<TokenSecret, ApiError> {
    let secret = cookie::value(headers)
        .ok_or_else(|| unauthenticated("the request has neither a token nor a cookie"))?;
    // A browser adds the cookie by itself, also to requests that a foreign page makes it send (CSRF).
    if !is_safe(method) {
        request_guard::require_same_origin(headers)?;
    }
    TokenSecret::parse(secret).map_err(|_| unauthenticated("the cookie is invalid"))
}

/// Returns the error (401) for a request that cannot be authenticated, with the challenge that RFC 9110 requires.
pub(crate) fn unauthenticated(detail: &str) -> ApiError {
    ApiError::new(
        ProblemKind::Unauthenticated,
        StatusCode::UNAUTHORIZED,
        detail,
    )
    .header(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"matins\""),
    )
    .hint(
        "create a token with `matins token create`, or a link for a browser with `matins sign-in`",
    )
}
