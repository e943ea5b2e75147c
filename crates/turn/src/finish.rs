//! The end of a run, written while this worker owns the run.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    RunId,
    outcome::{FailureKind, Outcome, RunFailure},
    turn::{TurnResult, WriteOutcome},
};
use tokio::time::{Instant, sleep};

use crate::{
    log_warning,
    turn_store::{TurnStore, TurnStoreError},
};

/// The result of executing a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The turn has ended.
    Finished,
    /// The turn was ended because the server stops; the run is queued for another attempt.
    Requeued,
    /// The turn did not begin; the ledger holds the reason.
    NotBegun,
    /// This worker no longer owns the run.
    Lost,
}

/// Writes the end of a run. Retries for `patience` while the ledger is unreachable, because a finished turn without
/// its end would be recovered as lost and could run again.
pub(crate) async fn finish(
    ledger: &dyn TurnStore,
    run: RunId,
    finished: TurnResult,
    patience: Duration,
) -> Result<TurnEnd, TurnStoreError> {
    let handed_back = matches!(
        &finished.outcome,
        Outcome::Failed(RunFailure {
            kind: FailureKind::Requeued,
            ..
        })
    );
    let settled = persist(run, patience, || ledger.finish(run, finished.clone())).await?;
    Ok(match settled {
        WriteOutcome::Committed if handed_back => TurnEnd::Requeued,
        WriteOutcome::Committed => TurnEnd::Finished,
        WriteOutcome::Fenced => TurnEnd::Lost,
    })
}

/// Writes to the ledger, and retries transient errors for `patience`. The caller passes the lease as `patience`,
/// because this worker may own the run no longer than that.
pub(crate) async fn persist<'a, T>(
    run: RunId,
    patience: Duration,
    write: impl Fn() -> BoxFuture<'a, Result<T, TurnStoreError>>,
) -> Result<T, TurnStoreError> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_millis(100);
    loop {
        match write().await {
            Err(error) if error.transient && Instant::now() + pause <= until => {
                log_warning(run, &error, "write the end");
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            settled => return settled,
        }
    }
}
