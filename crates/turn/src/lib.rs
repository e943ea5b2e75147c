//! One run from start to end: run its precheck, begin the turn, start the agent, create or restore its session,
//! prompt it, record its updates, shut it down, and finish the run.
//!
//! **Invariants**
//! - This is the only crate that runs turns, whatever their trigger.
//! - The crate uses no database. Everything that outlives the turn goes through a [`Ledger`], the port to storage.
//! - A turn whose ledger reports that this worker has lost the run stops its agent and writes nothing more.

mod agents;
mod asking;
mod begin;
mod conversation;
mod execute;
mod failure;
mod finish;
mod ledger;
mod own_folder;
mod patience;
mod permissions;
mod precheck;
mod pulse;
mod recorder;

pub use agents::Agents;
pub use execute::execute;
pub use finish::Ended;
pub use ledger::{Ledger, TurnStoreError};
pub use pulse::Orders;

use model::RunId;

/// Logs an error that is retried, or that the turn can do without.
fn warn(run: RunId, error: &(dyn std::error::Error + 'static), what: &str) {
    tracing::warn!(%run, error, "failed to {what} of {run}");
}
