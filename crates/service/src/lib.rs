//! What people ask for: create, edit, say, fire, reset, pause, delete, with their rules.
//!
//! The command line and the HTTP API call the same functions. **Invariants:** knows no HTTP, prints
//! nothing and starts no turn: it commits what was asked for, and whoever runs turns takes it up.

mod access;
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
mod harnesses;
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

pub use approvals::ApprovalQuery;
pub use automations::AutomationQuery;
pub use catalogue::{install_hint, presence};
pub use error::{Error, Kind};
pub use export::Export;
pub use fires::SHOWN_FIRES;
pub use harnesses::DEMO_HARNESS;
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
    /// Makes the service of one tenant. `probe` starts agents to see what they offer.
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

    /// The same, where notifications may also go to places that are not public.
    #[must_use]
    pub fn allowing(mut self, allowance: Allowance) -> Self {
        self.allowance = allowance;
        self
    }

    /// The same in unified mode, or not, for a browser or for others.
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
