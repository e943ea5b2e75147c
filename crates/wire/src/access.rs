//! Who may do what: tenants, tokens, and how a browser signs in.

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
    /// Its ID.
    pub id: TokenId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub kind: TokenKind,
    /// The role that it gives.
    pub role: Role,
    /// The permissions of its role that it gives. Null: all of them.
    pub scopes: Option<BTreeSet<Permission>>,
    /// The beginning of its secret, by which people recognize it.
    pub shown: String,
    /// The token that signed the browser in. This one ends with it.
    pub parent_id: Option<TokenId>,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The instant at which a person revoked it.
    pub revoked_at: Option<Timestamp>,
    /// The instant of its last use, to about a minute.
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
            scopes,
            shown,
            parent_id,
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
            shown,
            parent_id,
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
    /// Its ID.
    pub id: TenantId,
    /// Its name, unique for the whole install.
    pub name: String,
    /// The limits of all its runs together, and of each of them.
    #[serde(default)]
    pub budget: Budget,
    /// The instant of its creation.
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

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// The tenant.
    pub tenant: Tenant,
    /// The role.
    pub role: Role,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// The token; absent at the private socket, where whoever may open it is an admin.
    pub token: Option<TokenId>,
}

/// A tenant to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantRequest {
    /// Its name.
    #[schema(min_length = 1)]
    pub name: String,
}

/// A tenant that was made, with the token of its first admin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantCreated {
    /// The tenant.
    pub tenant: Tenant,
    /// The token of its admin.
    pub token: TokenCreated,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// What lists call it.
    #[schema(min_length = 1)]
    pub name: String,
    /// Its role: `admin`, `member` or `viewer`.
    pub role: Role,
    /// What it may do, at the most what its role permits; absent: all of that.
    #[serde(default)]
    pub scopes: Option<Vec<Permission>>,
    /// When it ends by itself; absent: never.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// A token that was made. Its secret is shown this one time.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenCreated {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// What comes after `Authorization: Bearer`; absent where the same request was made before.
    pub secret: Option<String>,
}

/// A way for a browser to sign in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInLink {
    /// The path with the code, to be put behind the server's address. The code stands behind `#`, which
    /// browsers send to no server and write to no log. Absent where the same request was made before.
    pub path: Option<String>,
    /// Until when it can be used.
    pub expires_at: Timestamp,
}

/// The code of a sign-in link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInCode {
    /// The code.
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
