//! Applies the rules of every request of a person: validates it, and commits it to the store.
//!
//! - [`Service`] has the requests of one tenant as methods, one file for each kind of resource: `automations.rs`,
//!   `sessions.rs`, `runs.rs`, `approvals.rs`, `questions.rs`, `artifacts.rs`, `agents.rs`, ...
//! - [`Error`] has a kind, the field at fault and a hint. The HTTP API derives statuses from it, and the command line
//!   derives exit codes.
//! - [`Probe`] is the port that starts agents to read their capabilities.
//! - [`receive_webhook`] takes requests from outside, which have no tenant until their signature is verified.
//! - [`trace_events`] and [`notification_text`] convert logged changes to the events and notifications of the API.
//!
//! Read `create_automation.rs` and `definition.rs` first.
//!
//! The command line and the HTTP API call the same functions. **Invariants:** this crate knows no HTTP, prints
//! nothing and starts no turn. It commits the request to the store, and the worker pool of a server takes up the
//! resulting runs. Every read and write is limited to one tenant, except for the administration of tenants and for
//! incoming webhooks.

mod access;
mod agents;
mod approvals;
mod artifact_files;
mod artifacts;
mod automation_summary;
mod automations;
mod blocked_on;
mod budgets;
mod catalogue;
mod create_automation;
mod definition;
mod dry_run;
mod edit_automation;
mod error;
mod export;
mod field_error;
mod goals;
mod instance_check;
mod instances;
mod memory;
mod naming;
mod new_seats;
mod new_sessions;
pub mod notification_text;
mod notifications;
mod object_lookup;
mod overview;
mod probe;
mod questions;
mod replay;
mod run_batches;
mod run_tools;
mod runs;
mod runtime;
mod seat_messages;
mod sessions;
mod text;
mod timeline;
pub mod trace_events;
mod trigger_files;
mod triggers;
mod unified;
mod unified_mode;
mod upcoming_runs;
mod webhooks;
mod working_directory;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

use std::sync::Arc;

use model::{Clock, Entropy, TenantId, Timestamp, allowlist::Allowlist};
use store::{Scope, Store};

pub use self::{artifact_files::ArtifactFiles, artifacts::ArtifactQuery};
pub use agents::DEMO_AGENT;
pub use approvals::ApprovalQuery;
pub use automation_summary::AutomationSummary;
pub use automations::{AutomationOrder, AutomationQuery};
pub use catalogue::{install_hint, presence};
pub use error::{Error, ErrorKind};
pub use export::Export;
pub use goals::{GoalQuery, GoalToEdit, TaskToEdit};
pub use memory::{MemoryOf, MemoryQuery, Recalled, Remember};
pub use overview::LONGEST_PERIOD;
pub use probe::{Probe, ProbeError, ProbeFuture};
pub use questions::QuestionQuery;
pub use run_tools::{
    ArtifactCopy, ArtifactSave, ArtifactSource, CronAdd, CronAdded, CronItem, JudgedTask,
    ListedTask, NeededFile, PersonQuestion, ReadMessages, ReportedTask, RunTools, RuntimeFiles,
    SentFile, TaskList, TaskQuery, TaskResult, TaskVerdict, ToolOffer,
};
pub use runs::RunQuery;
pub use runtime::{Runtime, RuntimeClaim, RuntimePresence, RuntimeRegistration, RuntimeToolCaller};
pub use seat_messages::{SeatMessageOrder, SeatMessageQuery};
pub use sessions::SessionQuery;
pub use text::{clean, excerpt, one_line, quoted};
pub use timeline::{DEFAULT_LANES, MAX_LANES, TimelineQuery};
pub use unified_mode::UnifiedMode;
pub use upcoming_runs::MAX_UPCOMING_RUNS;
pub use webhooks::{WebhookError, receive_webhook};

/// The rules over a store, for one tenant. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    store: Store,
    tenant: TenantId,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    probe: Arc<dyn Probe>,
    allowance: Allowlist,
    unified: UnifiedMode,
    /// The number of turns that the worker pool takes at a time. `None` if it is unknown.
    workers: Option<u32>,
    /// `None` if this process keeps no contents of artifacts.
    artifact_files: Option<ArtifactFiles>,
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
            allowance: Allowlist::default(),
            unified: UnifiedMode::default(),
            workers: None,
            artifact_files: None,
        }
    }

    /// Returns the same service, which accepts the addresses of `allowance` for notifications beside public ones.
    #[must_use]
    pub fn with_allowance(mut self, allowance: Allowlist) -> Self {
        self.allowance = allowance;
        self
    }

    /// Returns the same service with the given setting of unified mode.
    #[must_use]
    pub fn with_unified_mode(mut self, unified: UnifiedMode) -> Self {
        self.unified = unified;
        self
    }

    /// Returns the same service, which lets goals take fewer turns at a time than the worker pool has workers.
    #[must_use]
    pub fn with_workers(mut self, workers: Option<u32>) -> Self {
        self.workers = workers;
        self
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }
}
