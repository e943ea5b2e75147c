//! The rules of every request: creating and editing automations, sending messages, firing, pausing, resetting,
//! deleting.
//!
//! The command line and the HTTP API call the same functions. **Invariants:** this crate knows no HTTP, prints
//! nothing and starts no turn. It commits the request to the store, and the worker pool of a server takes up the
//! resulting runs. Every read and write is limited to one tenant, except for the administration of tenants and for
//! incoming webhooks.

mod access;
mod agents;
mod approvals;
mod automations;
mod budgets;
mod catalogue;
mod create_automation;
mod definition;
mod edit_automation;
mod error;
mod export;
mod fires;
mod instances;
mod naming;
pub mod notification_text;
mod notifications;
mod outlook;
mod probe;
mod reference;
mod replay;
mod runs;
mod sessions;
mod text;
pub mod trace_events;
mod triggers;
mod unified;
mod unified_mode;
mod waiting;
mod webhooks;
mod working_directory;

use std::sync::Arc;

use model::{Clock, Entropy, TenantId, Timestamp, allowance::Allowance};
use store::{Scope, Store};

pub use agents::DEMO_AGENT;
pub use approvals::ApprovalQuery;
pub use automations::AutomationQuery;
pub use catalogue::{install_hint, presence};
pub use error::{Error, Kind};
pub use export::Export;
pub use fires::MAX_UPCOMING_RUNS;
pub use outlook::Outlook;
pub use probe::{Probe, ProbeError, Probing};
pub use runs::RunQuery;
pub use sessions::SessionQuery;
pub use text::{clean, excerpt};
pub use unified_mode::Unified;
pub use webhooks::{WebhookError, receive_webhook};

/// The rules over a store, for one tenant. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    store: Store,
    tenant: TenantId,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    probe: Arc<dyn Probe>,
    allowance: Allowance,
    unified: Unified,
}

impl Service {
    /// Returns the service of one tenant. `probe` starts agents to find out their capabilities.
    pub fn new(
        store: Store,
        tenant: TenantId,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        probe: Arc<dyn Probe>,
    ) -> Self {
        Self {
            store,
            tenant,
            clock,
            entropy,
            probe,
            allowance: Allowance::default(),
            unified: Unified::default(),
        }
    }

    /// Returns the same service, which accepts the addresses of `allowance` for notifications beside public ones.
    #[must_use]
    pub fn allowing(mut self, allowance: Allowance) -> Self {
        self.allowance = allowance;
        self
    }

    /// Returns the same service with the given setting of unified mode.
    #[must_use]
    pub fn unified(mut self, unified: Unified) -> Self {
        self.unified = unified;
        self
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }
}
