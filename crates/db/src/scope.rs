//! The scope of a transaction.

use model::TenantId;

/// The set of rows that a transaction may touch.
///
/// On PostgreSQL, row-level security enforces it for every statement. On both databases, a statement that serves a
/// tenant also takes [`Scope::tenant`] as a parameter and compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The rows of every tenant, for the scheduler, the watchdog and the workers.
    System,
    /// The rows of one tenant.
    Tenant(TenantId),
}

impl Scope {
    /// Returns the tenant. Returns `None` for the whole system; the condition `tenant_id = coalesce($n, tenant_id)`
    /// then matches every tenant.
    pub fn tenant(self) -> Option<TenantId> {
        match self {
            Self::System => None,
            Self::Tenant(tenant) => Some(tenant),
        }
    }

    /// Returns the setting that the policies of row-level security read, and its value.
    pub(crate) fn setting(self) -> (&'static str, String) {
        match self {
            Self::System => ("matins.scope", "system".to_owned()),
            Self::Tenant(tenant) => ("matins.tenant", tenant.uuid().to_string()),
        }
    }
}
