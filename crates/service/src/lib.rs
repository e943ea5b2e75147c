//! What people ask for: create, edit, say, fire, reset, pause, delete, with their rules.
//!
//! The command line and the HTTP API call the same functions. **Invariants:** knows no HTTP, prints
//! nothing and starts no turn: it commits what was asked for, and whoever runs turns takes it up.

mod automations;
mod catalogue;
mod create_automation;
mod definition;
mod edit_automation;
mod error;
mod fires;
mod harnesses;
mod naming;
mod outlook;
mod probe;
mod reference;
mod runs;
mod session_target;
mod sessions;
mod waiting;
mod working_directory;

use std::sync::Arc;

use model::{Clock, Entropy, TenantId, Timestamp};
use store::{Scope, Store};

pub use automations::{AutomationDeleted, AutomationList, AutomationView, UnreadableAutomation};
pub use catalogue::{Presence, install_hint, presence};
pub use definition::{AutomationRequest, Timing};
pub use error::{Error, Kind};
pub use fires::{Fire, SHOWN_FIRES};
pub use harnesses::{Checked, DEMO_HARNESS};
pub use outlook::Outlook;
pub use probe::{
    Depth, LimitsHeldBy, Probe, ProbeError, Probed, Probing, RestoreProbe, SessionProbe, SignIn,
};
pub use runs::{RunQuery, RunView};
pub use session_target::SessionTarget;
pub use sessions::{BoundAutomation, SessionDeleted, SessionQuery, SessionRequest, SessionView};
pub use waiting::Waiting;

/// The rules over a store, for one tenant. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    store: Store,
    tenant: TenantId,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    probe: Arc<dyn Probe>,
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
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }
}
