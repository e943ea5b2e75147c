//! One run from start to end: ask its precheck, begin, start the agent, restore or make its session, prompt, record,
//! shut down, finish.
//!
//! **Invariants:** the only crate that runs turns, whoever asked for them. It knows no database: all
//! that lasts goes through a [`Ledger`]. A turn whose ledger says that it is lost stops its agent and
//! writes nothing more.

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
pub use ledger::{Ledger, LedgerError};
pub use pulse::Orders;

use model::RunId;

/// Logs that something about a run failed that is tried again, or that the turn can do without.
fn warn(run: RunId, error: &(dyn std::error::Error + 'static), what: &str) {
    tracing::warn!(%run, error, "failed to {what} of {run}");
}
