//! Access control: roles, the permissions that they grant, and tokens.
//!
//! **Invariants:** a token never has a permission that its role does not grant; scopes only restrict the token further.
//! A token never expires after the token that made it.

pub mod secret;
pub mod secret_mask;

use std::collections::BTreeSet;

use crate::{
    ids::{InstanceId, TenantId, TokenId},
    text_enum::text_enum,
    time::Timestamp,
};

text_enum! {
    /// The role of a token's bearer in its tenant.
    Role, "a role" {
        /// May do everything.
        Admin = "admin",
        /// Works with sessions, automations, runs and approvals, and reads agents and instances.
        Member = "member",
        /// Reads sessions, automations, runs, approvals, agents and instances.
        Viewer = "viewer",
        /// An instance that runs agents.
        Runtime = "runtime",
        /// The tools of an agent, until its run ends.
        Run = "run",
    }
}

text_enum! {
    /// A permission that a role grants and that a token's scopes may name.
    Permission, "a permission" {
        /// Read sessions and their transcripts.
        SessionsRead = "sessions:read",
        /// Create, change and delete sessions, and send messages to them.
        SessionsWrite = "sessions:write",
        /// Read automations and their triggers.
        AutomationsRead = "automations:read",
        /// Create, change, fire and delete automations.
        AutomationsWrite = "automations:write",
        /// Read runs.
        RunsRead = "runs:read",
        /// Cancel and retry runs.
        RunsWrite = "runs:write",
        /// Read the internal records of runs: the prompts as they were sent, and full errors.
        RecordsRead = "records:read",
        /// Read approvals.
        ApprovalsRead = "approvals:read",
        /// Decide approvals.
        ApprovalsWrite = "approvals:write",
        /// Read agents.
        AgentsRead = "agents:read",
        /// Create and change agents. An agent is a command that runs on the server.
        AgentsWrite = "agents:write",
        /// Read instances.
        InstancesRead = "instances:read",
        /// Remove instances.
        InstancesWrite = "instances:write",
        /// Read tokens, without their secrets.
        TokensRead = "tokens:read",
        /// Create and revoke tokens.
        TokensWrite = "tokens:write",
        /// Read endpoints and deliveries of notifications.
        NotificationsRead = "notifications:read",
        /// Create, change and delete endpoints of notifications.
        NotificationsWrite = "notifications:write",
        /// Read tenants.
        TenantsRead = "tenants:read",
        /// Create tenants.
        TenantsWrite = "tenants:write",
    }
}

impl Role {
    /// Returns `true` if the role grants a permission. The roles of processes, `Runtime` and `Run`, grant none of
    /// them, because all of these permissions are for people.
    pub const fn permits(self, permission: Permission) -> bool {
        use Permission as P;
        match self {
            Self::Admin => true,
            Self::Member => matches!(
                permission,
                P::SessionsRead
                    | P::SessionsWrite
                    | P::AutomationsRead
                    | P::AutomationsWrite
                    | P::RunsRead
                    | P::RunsWrite
                    | P::ApprovalsRead
                    | P::ApprovalsWrite
                    | P::AgentsRead
                    | P::InstancesRead
            ),
            Self::Viewer => matches!(
                permission,
                P::SessionsRead
                    | P::AutomationsRead
                    | P::RunsRead
                    | P::ApprovalsRead
                    | P::AgentsRead
                    | P::InstancesRead
            ),
            Self::Runtime | Self::Run => false,
        }
    }
}

text_enum! {
    /// The kind of a token.
    TokenKind, "a kind of token" {
        /// A program sends the token with each request.
        Token = "token",
        /// A browser keeps the token as a cookie, after a person signed in with another token.
        Browser = "browser",
    }
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The ID of the token.
    pub id: TokenId,
    /// The tenant of the token.
    pub tenant_id: TenantId,
    /// The name that a person gave the token.
    pub name: String,
    /// The kind of the token.
    pub kind: TokenKind,
    /// The role of the token's bearer in the tenant.
    pub role: Role,
    /// The instance whose runs the bearer takes. `Some` for the role [`Role::Runtime`] alone.
    pub instance_id: Option<InstanceId>,
    /// The subset of the role's permissions that the token has. `None`: all of them.
    pub scopes: Option<BTreeSet<Permission>>,
    /// The first characters of the token's secret, by which a person recognizes the token.
    pub secret_prefix: String,
    /// The token with which the browser signed in. If that token becomes invalid, this token does, too.
    pub parent_id: Option<TokenId>,
    /// The token that made this one. `None` if a person made it at the private socket, if an earlier version did, or if
    /// it is the token of a browser.
    pub made_by: Option<TokenId>,
    /// The instant at which the token was created.
    pub created_at: Timestamp,
    /// The instant from which the token is invalid.
    pub expires_at: Option<Timestamp>,
    /// The instant at which the token was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The instant of the last use, with a precision of about a minute.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// Returns `true` if the role grants the permission and the scopes, if any, contain it.
    pub fn permits(&self, permission: Permission) -> bool {
        let scopes = self.scopes.as_ref();
        self.role.permits(permission) && scopes.is_none_or(|scopes| scopes.contains(&permission))
    }
}

/// The refusal of a token that would expire after the token that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token cannot expire at {requested}, because the token that makes it expires at {latest}"
)]
pub struct OutlivesMaker {
    /// The requested end.
    pub requested: Timestamp,
    /// The latest end that is accepted: that of the token that makes the other one.
    pub latest: Timestamp,
}

/// Returns the end of a token that another token makes, `None` if it never expires. Without a requested end, it is that
/// of the maker.
///
/// # Errors
///
/// Returns [`OutlivesMaker`] if the requested end is later than that of the maker.
pub fn expiry_of_made_token(
    requested: Option<Timestamp>,
    maker_end: Option<Timestamp>,
) -> Result<Option<Timestamp>, OutlivesMaker> {
    match (requested, maker_end) {
        (Some(requested), Some(latest)) if requested > latest => {
            Err(OutlivesMaker { requested, latest })
        }
        (requested, maker_end) => Ok(requested.or(maker_end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(role: Role) -> BTreeSet<Permission> {
        let all = Permission::ALL.iter().copied();
        all.filter(|permission| role.permits(*permission)).collect()
    }

    #[test]
    fn role_grants_all_permissions_of_lower_roles() {
        let [admin, member, viewer] = [Role::Admin, Role::Member, Role::Viewer].map(permitted);
        assert!(viewer.is_subset(&member) && member.is_subset(&admin));
        assert_eq!((viewer.len(), member.len()), (6, 10));
        assert_eq!(admin.len(), Permission::ALL.len());
        assert!(viewer.iter().all(|it| it.as_str().ends_with(":read")));
        // Records may quote secrets, and an agent is a command that runs on the server, so only admins have these.
        for admin_only in [
            Permission::RecordsRead,
            Permission::TokensRead,
            Permission::AgentsWrite,
        ] {
            assert!(!member.contains(&admin_only), "{admin_only}");
        }
    }

    #[test]
    fn process_role_has_no_permissions() {
        for role in [Role::Runtime, Role::Run] {
            assert!(permitted(role).is_empty(), "{role}");
        }
    }

    #[test]
    fn made_token_expires_with_its_maker_at_the_latest() {
        let at = |second: i64| Timestamp::from_microsecond(second * 1_000_000).unwrap();
        let (requested, latest) = (at(6), at(5));
        let refused = Err(OutlivesMaker { requested, latest });
        for (requested, maker_end, expected) in [
            (Some(at(6)), Some(at(5)), refused),
            (Some(at(5)), Some(at(5)), Ok(Some(at(5)))),
            (Some(at(4)), Some(at(5)), Ok(Some(at(4)))),
            (Some(at(6)), None, Ok(Some(at(6)))),
            (None, Some(at(5)), Ok(Some(at(5)))),
            (None, None, Ok(None)),
        ] {
            let expiry = expiry_of_made_token(requested, maker_end);
            assert_eq!(expiry, expected, "{requested:?} {maker_end:?}");
        }
    }

    #[test]
    fn scopes_restrict_permissions_and_never_extend_them() {
        let scopes = BTreeSet::from([Permission::RunsRead, Permission::TokensWrite]);
        let mut token = Token {
            id: TokenId::from_uuid(uuid::Uuid::nil()),
            tenant_id: TenantId::from_uuid(uuid::Uuid::nil()),
            name: "ci".into(),
            kind: TokenKind::Token,
            role: Role::Member,
            instance_id: None,
            scopes: Some(scopes),
            secret_prefix: "mat_abcdef".into(),
            parent_id: None,
            made_by: None,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        assert!(token.permits(Permission::RunsRead));
        assert!(!token.permits(Permission::SessionsRead), "left out");
        assert!(!token.permits(Permission::TokensWrite), "beyond the role");
        token.scopes = None;
        assert!(token.permits(Permission::SessionsRead));
        token.scopes = Some(BTreeSet::new());
        assert!(!token.permits(Permission::RunsRead));
    }
}
