//! Who may do what: roles, the permissions that they give, and the tokens that carry them.

pub mod secret;

use std::collections::BTreeSet;

use crate::{
    ids::{TenantId, TokenId},
    text_enum::text_enum,
    time::Timestamp,
};

text_enum! {
    /// What whoever shows a token is to its tenant.
    Role, "a role" {
        /// May do everything.
        Admin = "admin",
        /// Works with sessions, automations and runs.
        Member = "member",
        /// Looks at them.
        Viewer = "viewer",
        /// An instance that runs agents.
        Runtime = "runtime",
        /// An agent's tools, for as long as its run goes on.
        Run = "run",
    }
}

text_enum! {
    /// One thing that a token may allow.
    Permission, "a permission" {
        /// See sessions and their transcripts.
        SessionsRead = "sessions:read",
        /// Make, change, address and delete sessions.
        SessionsWrite = "sessions:write",
        /// See automations and their triggers.
        AutomationsRead = "automations:read",
        /// Make, change, fire and delete automations.
        AutomationsWrite = "automations:write",
        /// See runs.
        RunsRead = "runs:read",
        /// Call runs off, and have them tried again.
        RunsWrite = "runs:write",
        /// See internal records: what was really sent, and what really went wrong.
        RecordsRead = "records:read",
        /// See approvals.
        ApprovalsRead = "approvals:read",
        /// Decide approvals.
        ApprovalsWrite = "approvals:write",
        /// See harnesses.
        HarnessesRead = "harnesses:read",
        /// Make and change harnesses, which are commands that run here.
        HarnessesWrite = "harnesses:write",
        /// See instances.
        InstancesRead = "instances:read",
        /// Give instances up.
        InstancesWrite = "instances:write",
        /// See tokens, never their secrets.
        TokensRead = "tokens:read",
        /// Make and revoke tokens.
        TokensWrite = "tokens:write",
        /// See notifications on their way out.
        NotificationsRead = "notifications:read",
        /// Change where notifications go.
        NotificationsWrite = "notifications:write",
        /// See tenants.
        TenantsRead = "tenants:read",
        /// Make tenants.
        TenantsWrite = "tenants:write",
    }
}

impl Role {
    /// Whether the role gives a permission. Those of processes give none of people's.
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
                    | P::HarnessesRead
                    | P::InstancesRead
            ),
            Self::Viewer => matches!(
                permission,
                P::SessionsRead
                    | P::AutomationsRead
                    | P::RunsRead
                    | P::ApprovalsRead
                    | P::HarnessesRead
                    | P::InstancesRead
            ),
            Self::Runtime | Self::Run => false,
        }
    }
}

text_enum! {
    /// What a token was made for.
    TokenKind, "a kind of token" {
        /// Shown with each request, by a program.
        Token = "token",
        /// Kept by a browser that another token signed in.
        Browser = "browser",
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// What people call it.
    pub name: String,
    /// What it was made for.
    pub kind: TokenKind,
    /// What whoever shows it is to the tenant.
    pub role: Role,
    /// What it may do of all that its role permits; absent: all of it.
    pub scopes: Option<BTreeSet<Permission>>,
    /// The beginning of its secret, by which people know it again.
    pub shown: String,
    /// The token that signed the browser in. This one ends with it.
    pub parent_id: Option<TokenId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is worth nothing.
    pub expires_at: Option<Timestamp>,
    /// When somebody took it back.
    pub revoked_at: Option<Timestamp>,
    /// When it was last shown, to about a minute.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// Whether it gives a permission: its role does, and its scopes do not leave it out.
    pub fn permits(&self, permission: Permission) -> bool {
        let scopes = self.scopes.as_ref();
        self.role.permits(permission) && scopes.is_none_or(|scopes| scopes.contains(&permission))
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
    fn a_role_gives_what_the_one_below_it_gives_and_more() {
        let [admin, member, viewer] = [Role::Admin, Role::Member, Role::Viewer].map(permitted);
        assert!(viewer.is_subset(&member) && member.is_subset(&admin));
        assert_eq!((viewer.len(), member.len()), (6, 10));
        assert_eq!(admin.len(), Permission::ALL.len());
        assert!(viewer.iter().all(|one| one.as_str().ends_with(":read")));
        // What a person may not do by looking: see secrets' surroundings, and run commands.
        for beyond in [
            Permission::RecordsRead,
            Permission::TokensRead,
            Permission::HarnessesWrite,
        ] {
            assert!(!member.contains(&beyond), "{beyond}");
        }
    }

    #[test]
    fn a_process_has_no_permission_of_people() {
        for role in [Role::Runtime, Role::Run] {
            assert!(permitted(role).is_empty(), "{role}");
        }
    }

    #[test]
    fn scopes_take_away_and_never_add() {
        let scopes = BTreeSet::from([Permission::RunsRead, Permission::TokensWrite]);
        let mut token = Token {
            id: TokenId::from_uuid(uuid::Uuid::nil()),
            tenant_id: TenantId::from_uuid(uuid::Uuid::nil()),
            name: "ci".into(),
            kind: TokenKind::Token,
            role: Role::Member,
            scopes: Some(scopes),
            shown: "mat_abcdef".into(),
            parent_id: None,
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
