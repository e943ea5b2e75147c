//! Who asks.

use axum::extract::FromRequestParts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use model::{
    TenantId, Timestamp,
    access::{Permission, Role, Token, TokenKind, secret::TokenSecret},
};
use service::{Service, Unified};
use wire::ProblemKind;

use crate::{Api, Peer, cookie, extract::is_safe, gate, problem::Failure};

/// Whoever sent a request, known and let in. What they may do is asked for by [`Caller::may`].
pub(crate) struct Caller {
    pub(crate) api: Api,
    pub(crate) tenant: TenantId,
    pub(crate) token: Option<Token>,
}

impl Caller {
    /// The rules for the caller's tenant, if the caller has a permission.
    pub(crate) fn may(&self, permission: Permission) -> Result<Service, Failure> {
        let permitted = match &self.token {
            None => true,
            Some(token) => token.permits(permission),
        };
        if permitted {
            let service = self.api.service(self.tenant);
            return Ok(service.unified(Unified {
                on: self.api.shared.unified,
                by_browser: self.is_browser(),
            }));
        }
        Err(Failure::forbidden(format!(
            "failed to do that: the token may not {permission}; it is that of {}",
            match self.role() {
                Role::Admin => "an admin with fewer scopes",
                Role::Member => "a member",
                Role::Viewer => "a viewer",
                Role::Runtime => "a runtime",
                Role::Run => "a run",
            }
        )))
    }

    /// Whether a browser asks that was signed in.
    fn is_browser(&self) -> bool {
        let token = self.token.as_ref();
        token.is_some_and(|token| token.kind == TokenKind::Browser)
    }

    /// The caller's role. Whoever may open the private socket is an admin.
    pub(crate) fn role(&self) -> Role {
        self.token.as_ref().map_or(Role::Admin, |token| token.role)
    }

    /// What the caller may do.
    pub(crate) fn permissions(&self) -> Vec<Permission> {
        let all = Permission::ALL.iter().copied();
        all.filter(|permission| {
            let token = self.token.as_ref();
            token.is_none_or(|token| token.permits(*permission))
        })
        .collect()
    }

    /// Whether the caller belongs to the tenant of the install itself, whose admins may make others.
    pub(crate) fn is_of_the_install(&self) -> bool {
        self.tenant == self.api.shared.tenant
    }

    /// The present.
    pub(crate) fn now(&self) -> Timestamp {
        self.api.shared.clock.now()
    }

    /// Makes whoever takes turns look.
    pub(crate) fn wake(&self) {
        (self.api.shared.wake)();
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Failure> {
        let private = parts.extensions.get::<Peer>() == Some(&Peer::Private);
        let shown = match bearer(&parts.headers)? {
            Some(secret) => secret,
            None if private => {
                return Ok(Self {
                    api: api.clone(),
                    tenant: api.shared.tenant,
                    token: None,
                });
            }
            None => by_cookie(&parts.method, &parts.headers)?,
        };
        let now = api.shared.clock.now();
        let found = api.shared.store.token_by_hash(&shown.hash(), now).await?;
        let token = found.ok_or_else(|| {
            unauthenticated("the token is none, or it has expired or was taken back")
        })?;
        api.shared.uses.note(&api.shared.store, token.id, now);
        Ok(Self {
            api: api.clone(),
            tenant: token.tenant_id,
            token: Some(token),
        })
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<TokenSecret>, Failure> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let Some(first) = first else { return Ok(None) };
    let accepted = "accepted is one header `Authorization: Bearer mat_...`";
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
        .map_err(|error| unauthenticated(&error.to_string()))
}

fn by_cookie(method: &Method, headers: &HeaderMap) -> Result<TokenSecret, Failure> {
    let shown = cookie::of(headers)
        .ok_or_else(|| unauthenticated("neither a token nor a cookie came with the request"))?;
    if !is_safe(method) {
        gate::sent_by_our_page(headers)?;
    }
    TokenSecret::parse(shown).map_err(|_| unauthenticated("the cookie is worth nothing"))
}

pub(crate) fn unauthenticated(why: &str) -> Failure {
    Failure::new(
        ProblemKind::Unauthenticated,
        StatusCode::UNAUTHORIZED,
        format!("failed to know who asks: {why}"),
    )
    .header(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"matins\""),
    )
    .hint("`matins token create` makes a token, `matins sign-in` a link for a browser")
}
