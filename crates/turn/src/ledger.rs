//! Where a turn's lasting effects go.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    RunId,
    approval::Question,
    budget::Accounts,
    permission::Verdict,
    turn::{Beat, Begin, Declined, Entry, Finished, Settled},
};
use serde_json::Value;

/// Why a ledger could not be reached, or failed. The write may or may not have happened; every write
/// can be made again.
#[derive(Debug, thiserror::Error)]
#[error("write the ledger")]
pub struct LedgerError {
    /// What failed.
    pub source: Box<dyn std::error::Error + Send + Sync>,
    /// Whether the same write may succeed later: a database that is away, or busy.
    pub transient: bool,
}

/// Keeps what a turn does. A worker's ledger writes to the store; a runtime's will call the API.
pub trait Ledger: Send + Sync {
    /// Begins the turn of a run that is this worker's. Made again after it was done, it answers
    /// [`Begin::Lost`].
    fn begin(&self, run: RunId) -> BoxFuture<'_, Result<Begin, LedgerError>>;

    /// The same once its precheck was asked and has not declined.
    fn begin_asked(&self, run: RunId) -> BoxFuture<'_, Result<Begin, LedgerError>>;

    /// Skips a run whose precheck has declined, with what is to be kept of that.
    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<Declined, LedgerError>>;

    /// Says that the run is still being executed, and asks what is wanted of it.
    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<Beat, LedgerError>>;

    /// Writes rows of the transcript; a row under an id that is there already replaces it.
    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<Settled, LedgerError>>;

    /// Adds to the text that viewers see being written, at a position in bytes.
    fn live(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<Settled, LedgerError>>;

    /// Counts what the turn has used so far, as its agent reports it. Gives what limits it from now on;
    /// `None` if the run is no longer this worker's.
    fn spend(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, LedgerError>>;

    /// Asks a person for a permission, and waits for the answer as long as `patience` at the most; then it
    /// is denied. Whoever drops this asks no more: what was asked can be decided until it is withdrawn, or
    /// the run ends.
    fn ask(
        &self,
        run: RunId,
        question: Question,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Verdict, LedgerError>>;

    /// Makes void what the run asks and nobody has decided: its agent hears no answer any more.
    fn withdraw(&self, run: RunId) -> BoxFuture<'_, Result<Settled, LedgerError>>;

    /// Ends the run, or gives one back that was not begun.
    fn finish(&self, run: RunId, finished: Finished)
    -> BoxFuture<'_, Result<Settled, LedgerError>>;
}
