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
    /// The turn did not begin; the store holds the reason.
    NotBegun,
    /// This worker no longer owns the run.
    Lost,
}

/// Writes the end of a run. Retries for `retry_period` while the store is unreachable, because a finished turn without
/// its end would be recovered as lost and could run again.
pub(crate) async fn finish(
    store: &dyn TurnStore,
    run: RunId,
    finished: TurnResult,
    retry_period: Duration,
) -> Result<TurnEnd, TurnStoreError> {
    let is_requeue = matches!(
        &finished.outcome,
        Outcome::Failed(RunFailure {
            kind: FailureKind::Requeued,
            ..
        })
    );
    let outcome = persist(run, retry_period, || store.finish(run, finished.clone())).await?;
    Ok(match outcome {
        WriteOutcome::Committed if is_requeue => TurnEnd::Requeued,
        WriteOutcome::Committed => TurnEnd::Finished,
        WriteOutcome::Fenced => TurnEnd::Lost,
    })
}

/// Writes to the store, and retries transient errors for `retry_period`. The caller passes the lease as
/// `retry_period`, because this worker may own the run no longer than that.
pub(crate) async fn persist<'a, T>(
    run: RunId,
    retry_period: Duration,
    write: impl Fn() -> BoxFuture<'a, Result<T, TurnStoreError>>,
) -> Result<T, TurnStoreError> {
    let until = Instant::now() + retry_period;
    let mut pause = Duration::from_millis(100);
    loop {
        match write().await {
            Err(error) if error.transient && Instant::now() + pause <= until => {
                log_warning(run, &error, "write the end");
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            result => return result,
        }
    }
}
