//! Tenants, tokens and their permissions, and the sign-in of browsers.

use std::{collections::BTreeSet, fmt};

use model::{
    TenantId, Timestamp, TokenId,
    access::{self, Permission, Role, TokenKind},
    entity,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Budget;

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// The ID of the token.
    pub id: TokenId,
    /// The tenant that owns the token.
    pub tenant_id: TenantId,
    /// The name of the token.
    pub name: String,
    /// The purpose of the token.
    pub kind: TokenKind,
    /// The role of the token.
    pub role: Role,
    /// The permissions of the token, a subset of those of its role. Null if the token has all permissions of its
    /// role.
    pub scopes: Option<BTreeSet<Permission>>,
    /// The first characters of the secret, by which a person recognizes the token.
    pub secret_prefix: String,
    /// The token that signed the browser in. If that token ends, this one ends with it. Null if no browser
    /// uses the token.
    pub parent_id: Option<TokenId>,
    /// The token that made this one. Null if a person made it at the private socket, if an earlier version of Matins
    /// made it, or if a browser uses it.
    #[serde(default)]
    pub made_by: Option<TokenId>,
    /// The instant at which the token was created.
    pub created_at: Timestamp,
    /// The instant at which the token expires. Null if the token never expires.
    pub expires_at: Option<Timestamp>,
    /// The instant at which the token was revoked. Null if the token is not revoked.
    pub revoked_at: Option<Timestamp>,
    /// The instant of the last use, accurate to about a minute. Null if the token was never used.
    pub last_used_at: Option<Timestamp>,
}

impl From<access::Token> for Token {
    fn from(token: access::Token) -> Self {
        let access::Token {
            id,
            tenant_id,
            name,
            kind,
            role,
            instance_id: _,
            scopes,
            secret_prefix,
            parent_id,
            made_by,
            created_at,
            expires_at,
            revoked_at,
            last_used_at,
        } = token;
        Self {
            id,
            tenant_id,
            name,
            kind,
            role,
            scopes,
            secret_prefix,
            parent_id,
            made_by,
            created_at,
            expires_at,
            revoked_at,
            last_used_at,
        }
    }
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// The ID of the tenant.
    pub id: TenantId,
    /// The name of the tenant, unique for the whole install.
    pub name: String,
    /// The limits of all runs of the tenant together, and of each of them.
    #[serde(default)]
    pub budget: Budget,
    /// The instant at which the tenant was created.
    pub created_at: Timestamp,
}

impl From<entity::Tenant> for Tenant {
    fn from(tenant: entity::Tenant) -> Self {
        let entity::Tenant {
            id,
            name,
            budget,
            created_at,
        } = tenant;
        Self {
            id,
            name,
            budget: budget.into(),
            created_at,
        }
    }
}

/// The caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// The tenant of the caller.
    pub tenant: Tenant,
    /// The role of the caller.
    pub role: Role,
    /// The permissions of the caller.
    pub permissions: Vec<Permission>,
    /// The token of the request. Null at the private socket, where every caller is an admin.
    pub token: Option<TokenId>,
}

/// A request that creates a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantRequest {
    /// The name of the tenant, unique for the whole install.
    #[schema(min_length = 1)]
    pub name: String,
}

/// A new tenant, and the token of its first admin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantCreated {
    /// The new tenant.
    pub tenant: Tenant,
    /// The token of the first admin.
    pub token: TokenCreated,
}

/// A request that creates a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The name of the token in lists.
    #[schema(min_length = 1)]
    pub name: String,
    /// The role of the token.
    pub role: Role,
    /// The permissions of the token, a subset of those of its role. If absent, all permissions of its role.
    #[serde(default)]
    pub scopes: Option<Vec<Permission>>,
    /// The instant at which the token expires, not after the end of the token that makes it. If absent or null, the
    /// token expires with the token that makes it, and never if that one never does.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// A revoked token, and the effect on the tokens that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenRevoked {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// The number of other tokens that this request revoked, those of signed-in browsers included.
    // No default: a server that does not know the cascade ignores it, and its response must not read as a success.
    pub also_revoked: u64,
    /// The number of valid tokens that the token made, directly or through others, and that stay valid.
    pub still_valid: u64,
}

/// A new token. The response is the only one that has the secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenCreated {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// The secret, for `Authorization: Bearer`. Null if the response repeats the one to an earlier request with the
    /// same idempotency key.
    pub secret: Option<String>,
}

/// A link that signs a browser in once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInLink {
    /// The path with the code, to append to the address of the server. The code is in the fragment (after `#`),
    /// because browsers send it to no server and write it to no log. Null if the response repeats the one to an
    /// earlier request with the same idempotency key.
    pub path: Option<String>,
    /// The instant at which the link expires.
    pub expires_at: Timestamp,
}

/// The code of a sign-in link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInCode {
    /// The code from the fragment of the link.
    #[schema(min_length = 1)]
    pub code: String,
}

impl fmt::Debug for TokenCreated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCreated")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
