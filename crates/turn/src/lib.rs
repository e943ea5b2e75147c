//! One run from start to end: run its precheck, begin the turn, start the agent, create or restore its session,
//! prompt it, record its updates, shut it down, and finish the run.
//!
//! **Invariants**
//! - This is the only crate that runs turns, whatever their trigger.
//! - The crate uses no database. Everything that outlives the turn goes through a [`Ledger`], the port to storage.
//! - A turn whose ledger reports that this worker has lost the run stops its agent and writes nothing more.

mod agent_runtime;
mod approvals;
mod begin;
mod conversation;
mod execute;
mod failure_kind;
mod finish;
mod heartbeat;
mod permissions;
mod precheck;
mod recorder;
mod session_folder;
mod time_limits;
mod turn_store;

pub use agent_runtime::AgentRuntime;
pub use execute::execute;
pub use finish::TurnEnd;
pub use heartbeat::TurnControl;
pub use turn_store::{TurnStore, TurnStoreError};

use model::RunId;

/// Logs an error that is retried, or that the turn can do without.
fn log_warning(run: RunId, error: &(dyn std::error::Error + 'static), what: &str) {
    tracing::warn!(%run, error, "failed to {what} of {run}");
}
