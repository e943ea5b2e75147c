//! The end of a run, written for as long as the run is this worker's.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    RunId,
    outcome::{Failure, FailureKind, Outcome},
    turn::{Finished, Settled},
};
use tokio::time::{Instant, sleep};

use crate::{
    ledger::{Ledger, LedgerError},
    warn,
};

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its turn was taken and has ended.
    Finished,
    /// Its turn was ended for the server to stop; another attempt waits.
    HandedBack,
    /// Its turn did not begin, and the ledger says why.
    NotBegun,
    /// It is no longer this worker's.
    Lost,
}

/// Writes the end of a run. A ledger that is away is tried again for as long as the run is this
/// worker's: a turn that was taken must not be taken for lost.
pub(crate) async fn finish(
    ledger: &dyn Ledger,
    run: RunId,
    finished: Finished,
    patience: Duration,
) -> Result<Ended, LedgerError> {
    let handed_back = matches!(
        &finished.outcome,
        Outcome::Failed(Failure {
            kind: FailureKind::HandedBack,
            ..
        })
    );
    let settled = persist(run, patience, || ledger.finish(run, finished.clone())).await?;
    Ok(match settled {
        Settled::Written if handed_back => Ended::HandedBack,
        Settled::Written => Ended::Finished,
        Settled::Lost => Ended::Lost,
    })
}

/// Makes a write again for as long as the ledger is only away, and the run this worker's.
pub(crate) async fn persist<'a, T>(
    run: RunId,
    patience: Duration,
    write: impl Fn() -> BoxFuture<'a, Result<T, LedgerError>>,
) -> Result<T, LedgerError> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_millis(100);
    loop {
        match write().await {
            Err(error) if error.transient && Instant::now() + pause <= until => {
                warn(run, &error, "write the end");
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            settled => return settled,
        }
    }
}
