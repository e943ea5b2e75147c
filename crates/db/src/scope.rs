//! Whose rows a transaction may touch.

use model::TenantId;

/// Whose rows a transaction may touch.
///
/// On PostgreSQL row-level security holds every statement to it; on both databases statements that
/// serve a tenant take [`Scope::tenant`] as a parameter and say so themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Rows of every tenant: the scheduler, the watchdog, the workers.
    System,
    /// Rows of one tenant.
    Tenant(TenantId),
}

impl Scope {
    /// The tenant, if it is one tenant's scope. As a parameter, `coalesce($n, tenant_id)` reads:
    /// that tenant, or any.
    pub fn tenant(self) -> Option<TenantId> {
        match self {
            Self::System => None,
            Self::Tenant(tenant) => Some(tenant),
        }
    }

    /// The setting that the policies of row-level security read, and its value.
    pub(crate) fn setting(self) -> (&'static str, String) {
        match self {
            Self::System => ("matins.scope", "system".to_owned()),
            Self::Tenant(tenant) => ("matins.tenant", tenant.uuid().to_string()),
        }
    }
}
