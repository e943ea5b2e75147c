//! Tenants, tokens, and links that sign a browser in.
//!
//! **Invariants:** [`Service::create_token`] never grants a permission that the caller lacks, nor creates a token that
//! outlives that of the caller. A secret is returned once, by the call that creates it; the store keeps only its hash.

use std::{collections::BTreeSet, slice, time::Duration};

use api_types::{Page, SignInLink, TenantCreated, TokenCreated, TokenRequest, TokenRevoked};
use model::{
    TenantId, Timestamp, TokenId,
    access::{
        OutlivesMaker, Permission, Role, Token,
        secret::{LinkSecret, TokenSecret},
    },
    caller_name::SOCKET_CALLER_NAME,
    entity::Tenant,
};
use store::{NewBrowserToken, NewToken, Page as StorePage, RevocationExtent, Scope};

use crate::{Error, Service, boxed, naming, object_lookup::Reference};

/// The lifetime of a sign-in link.
const SIGN_IN_LINK_LIFETIME: Duration = Duration::from_mins(10);
/// The time that a browser stays signed in.
const BROWSER_SIGN_IN_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// The name of the token of a tenant's first admin.
const FIRST_TOKEN_NAME: &str = "first";
/// The name of the tokens for browsers that are signed in from this machine.
const MACHINE_TOKEN_NAME: &str = "signed in from this machine";

impl Service {
    /// Returns the tenant of this service.
    #[boxed]
    pub async fn current_tenant(&self) -> Result<Tenant, Error> {
        Ok(self.store.tenant(self.scope(), self.tenant).await?)
    }

    /// Lists tenants, the newest first: all tenants if `all`, otherwise the tenant of this service.
    #[boxed]
    pub async fn tenants(
        &self,
        all: bool,
        after: Option<TenantId>,
        limit: u32,
    ) -> Result<Page<Tenant>, Error> {
        let scope = if all { Scope::System } else { self.scope() };
        // One row more than the page, so that `Page::of` can tell whether another page follows.
        let page = StorePage {
            after,
            limit: limit + 1,
        };
        let found = self.store.tenants(scope, page).await?;
        Ok(Page::of(found, limit, |tenant| tenant.id.to_string()))
    }

    /// Returns the tenant with this ID or name. Without `all`, finds only the tenant of this service.
    #[boxed]
    pub async fn tenant(&self, all: bool, given: &str) -> Result<Tenant, Error> {
        let reference = Reference::parse(given, TenantId::PREFIX);
        let found = if all {
            self.find_any_tenant(reference).await?
        } else {
            let current = self.current_tenant().await?;
            let position = reference.position(slice::from_ref(&current), |it| (it.id, &it.name));
            position.map(|_| current)
        };
        found.ok_or_else(|| Error::NotFound {
            what: "tenant",
            given: given.chars().take(80).collect(),
            nearest: None,
        })
    }

    async fn find_any_tenant(
        &self,
        reference: Reference<'_, TenantId>,
    ) -> Result<Option<Tenant>, Error> {
        if let Some(id) = reference.id()
            && let Some(found) = self.find_tenant_by_id(id).await?
        {
            return Ok(Some(found));
        }
        match reference.name() {
            Some(name) => Ok(self.store.tenant_named(name).await?),
            None => Ok(None),
        }
    }

    async fn find_tenant_by_id(&self, id: TenantId) -> Result<Option<Tenant>, Error> {
        match self.store.tenant(Scope::System, id).await {
            Err(store::Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// Returns the instant at which a token that makes another one expires. Fails if it is not valid any more.
    async fn end_of_maker(&self, made_by: Option<TokenId>) -> Result<Option<Timestamp>, Error> {
        match made_by {
            Some(maker) => {
                let end = self
                    .store
                    .end_of_valid_token(self.scope(), maker, self.now());
                Ok(end.await?)
            }
            None => Ok(None),
        }
    }

    /// Creates a tenant with its default agents and the token of its first admin. That token expires with
    /// `made_by`, the caller's token. No maker is stored for it, because no row refers to a row of another tenant. With
    /// a reserved `id`, completes or returns the tenant that an earlier request has created; the secret of an existing
    /// token is not returned.
    ///
    /// # Errors
    ///
    /// The name is invalid or taken, or the caller's token was revoked or has expired meanwhile.
    #[boxed]
    pub async fn create_tenant(
        &self,
        name: &str,
        made_by: Option<TokenId>,
        id: Option<TenantId>,
        demo_command: &[String],
    ) -> Result<TenantCreated, Error> {
        let now = self.now();
        self.end_of_maker(made_by).await?;
        let before = match id {
            Some(id) => self.find_tenant_by_id(id).await?,
            None => None,
        };
        // Do not check the name of an existing tenant again, because the rules of names may have changed since.
        let id = if let Some(before) = before {
            before.id
        } else {
            let name = naming::validate_new_name("name", name, None)?;
            let id = id.unwrap_or_else(|| TenantId::generate(now, &*self.entropy));
            match self.store.create_tenant(id, &name, now).await {
                Ok(()) | Err(store::Error::AlreadyCreated { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            id
        };
        // An earlier request may have stopped after any of these steps, so each step tolerates that its row exists.
        let of_tenant = Self {
            tenant: id,
            ..self.clone()
        };
        of_tenant.add_known_agents(demo_command).await?;
        // Ask again: the caller's token may have been revoked since the request began.
        let token_end = self.end_of_maker(made_by).await?;
        // The ID of the token is derived from the tenant's, so that a repeated request finds the existing token.
        let token = of_tenant.create_first_token(token_end, Some(TokenId::from_uuid(id.uuid())));
        let token = token.await?;
        Ok(TenantCreated {
            tenant: of_tenant.current_tenant().await?.into(),
            token,
        })
    }

    /// Creates the token of the tenant's first admin, with a reserved ID if there is one.
    #[boxed]
    pub async fn create_first_token(
        &self,
        expires_at: Option<Timestamp>,
        id: Option<TokenId>,
    ) -> Result<TokenCreated, Error> {
        let request = TokenRequest {
            name: FIRST_TOKEN_NAME.to_owned(),
            role: Role::Admin,
            scopes: None,
            expires_at,
        };
        self.create_token(&request, Permission::ALL, None, id).await
    }

    /// Lists tokens, the newest first.
    #[boxed]
    pub async fn tokens(&self, after: Option<TokenId>, limit: u32) -> Result<Page<Token>, Error> {
        let page = StorePage {
            after,
            limit: limit + 1,
        };
        let found = self.store.tokens(self.tenant, page).await?;
        Ok(Page::of(found, limit, |token| token.id.to_string()))
    }

    /// Returns one token, by its ID or an ID prefix.
    #[boxed]
    pub async fn token(&self, given: &str) -> Result<Token, Error> {
        let id = self.find_token(given).await?;
        Ok(self.store.token(self.scope(), id).await?)
    }

    /// Creates a token with at most the `permitted` permissions of the caller. It expires with the caller's token
    /// `made_by` at the latest, and exactly then if the request names no end. With a reserved `id`, returns the token
    /// that an earlier request has created, without its secret.
    ///
    /// # Errors
    ///
    /// Returns an error if the role or a scope is not permitted, if the expiry lies in the past or after that of the
    /// caller's token, or if the caller's token is revoked or expired.
    #[boxed]
    pub async fn create_token(
        &self,
        request: &TokenRequest,
        permitted: &[Permission],
        made_by: Option<TokenId>,
        id: Option<TokenId>,
    ) -> Result<TokenCreated, Error> {
        if let Some(id) = id {
            match self.store.token(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                existing => {
                    return Ok(TokenCreated {
                        token: existing?.into(),
                        secret: None,
                    });
                }
            }
        }
        let now = self.now();
        let name = naming::validate_new_name("name", &request.name, None)?;
        if name == SOCKET_CALLER_NAME {
            let problem = "it stands for callers over the private socket; accepted is another name";
            return Err(Error::invalid("name", &name, problem));
        }
        if matches!(request.role, Role::Runtime | Role::Run) {
            let problem = "accepted are admin, member and viewer; the server itself creates tokens of the other roles";
            return Err(Error::invalid("role", request.role.as_str(), problem));
        }
        if let Some(expires) = request.expires_at.filter(|expires| *expires <= now) {
            let problem = "it is in the past; accepted is a future instant";
            return Err(Error::invalid("expires_at", &expires.to_string(), problem));
        }
        let scopes = limit_scopes(request, permitted)?;
        let secret = TokenSecret::generate(&*self.entropy);
        let new = NewToken {
            id: id.unwrap_or_else(|| TokenId::generate(now, &*self.entropy)),
            name,
            role: request.role,
            scopes,
            hash: secret.hash(),
            secret_prefix: secret.display_prefix().to_owned(),
            made_by,
            expires_at: request.expires_at,
        };
        let secret = match self.store.create_token(self.tenant, &new, now).await {
            Ok(()) => Some(secret.reveal().to_owned()),
            // A concurrent copy of this request has created the token and returned its secret.
            Err(store::Error::AlreadyCreated { .. }) => None,
            Err(store::Error::OutlivesMaker(OutlivesMaker { requested, latest })) => {
                let problem = format!(
                    "the token that makes it expires at `{latest}`; accepted is that instant or an earlier one"
                );
                return Err(Error::invalid(
                    "expires_at",
                    &requested.to_string(),
                    problem,
                ));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(TokenCreated {
            token: self.store.token(self.scope(), new.id).await?.into(),
            secret,
        })
    }

    /// Revokes a token, by its ID or an ID prefix, and the tokens of the browsers that it signed in. With `cascade`, also
    /// revokes all tokens that it made, directly or through others.
    #[boxed]
    pub async fn revoke_token(&self, given: &str, cascade: bool) -> Result<TokenRevoked, Error> {
        let id = self.find_token(given).await?;
        let extent = if cascade {
            RevocationExtent::Made
        } else {
            RevocationExtent::Own
        };
        let revoked = self
            .store
            .revoke_token(self.scope(), id, extent, self.now())
            .await?;
        Ok(TokenRevoked {
            token: self.store.token(self.scope(), id).await?.into(),
            also_revoked: revoked.also_revoked,
            still_valid: revoked.still_valid,
        })
    }

    /// Creates a link that signs a browser in once, as the bearer of `token`. Without a token, creates an admin token
    /// for it first, with the `reserved` ID if one is given.
    ///
    /// A repeated request creates another link, because the code of the first one was never delivered and only its
    /// hash is stored.
    #[boxed]
    pub async fn create_sign_in_link(
        &self,
        token: Option<TokenId>,
        reserved: Option<TokenId>,
    ) -> Result<SignInLink, Error> {
        let now = self.now();
        let token = match token {
            Some(token) => token,
            None => self.create_machine_token(reserved).await?,
        };
        let secret = LinkSecret::generate(&*self.entropy);
        let expires_at = now + SIGN_IN_LINK_LIFETIME;
        self.store
            .create_sign_in_link(self.tenant, token, &secret.hash(), now, expires_at)
            .await?;
        Ok(SignInLink {
            path: Some(format!("/sign-in#{}", secret.reveal())),
            expires_at,
        })
    }

    /// Creates an admin token whose secret is discarded. It is the parent of the tokens of browsers that are signed
    /// in from this machine, so that revoking it signs them out.
    async fn create_machine_token(&self, id: Option<TokenId>) -> Result<TokenId, Error> {
        let request = TokenRequest {
            name: MACHINE_TOKEN_NAME.to_owned(),
            role: Role::Admin,
            scopes: None,
            expires_at: Some(self.now() + BROWSER_SIGN_IN_LIFETIME),
        };
        let created = self
            .create_token(&request, Permission::ALL, None, id)
            .await?;
        Ok(created.token.id)
    }

    /// Exchanges the code of a link for a browser token with the given secret. Returns the lifetime of that token in
    /// seconds. Returns `None` if the link is unknown, expired or used, or if its token is no longer valid.
    #[boxed]
    pub async fn use_sign_in_link(
        &self,
        code: &LinkSecret,
        secret: &TokenSecret,
    ) -> Result<Option<i64>, Error> {
        let now = self.now();
        let new = NewBrowserToken {
            id: TokenId::generate(now, &*self.entropy),
            hash: secret.hash(),
            secret_prefix: secret.display_prefix().to_owned(),
            expires_at: now + BROWSER_SIGN_IN_LIFETIME,
        };
        let signed_in = self.store.use_sign_in_link(&code.hash(), &new, now).await?;
        Ok(signed_in.map(|token| {
            let until = token.expires_at.unwrap_or(new.expires_at);
            i64::try_from(until.since(now).as_secs()).unwrap_or(i64::MAX)
        }))
    }
}

/// Returns the scopes of a requested token, limited to the permissions of the caller. Returns `None` if the token
/// gets all permissions of its role.
///
/// # Errors
///
/// Returns an error if a requested scope is beyond the role or beyond the permissions of the caller.
fn limit_scopes(
    request: &TokenRequest,
    permitted: &[Permission],
) -> Result<Option<BTreeSet<Permission>>, Error> {
    let of_role = |permission: &Permission| request.role.permits(*permission);
    let accepted: BTreeSet<Permission> = permitted.iter().copied().filter(of_role).collect();
    let problem = || {
        if accepted.is_empty() {
            let role = request.role.as_str();
            return format!("this token can give the role `{role}` no permission");
        }
        let names: Vec<_> = accepted.iter().map(|scope| scope.as_str()).collect();
        format!("accepted are {}", names.join(", "))
    };
    match &request.scopes {
        Some(scopes) => {
            if let Some(beyond) = scopes.iter().find(|scope| !accepted.contains(scope)) {
                return Err(Error::invalid("scopes", beyond.as_str(), problem()));
            }
            Ok(Some(scopes.iter().copied().collect()))
        }
        // The role permits more than the caller may do. Limit the token, so that a caller cannot create a token more
        // powerful than its own.
        None if accepted.len() < Permission::ALL.iter().filter(|one| of_role(one)).count() => {
            Ok(Some(accepted))
        }
        None => Ok(None),
    }
}
