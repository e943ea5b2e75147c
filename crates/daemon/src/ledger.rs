//! A worker's ledger: the store.

use futures::future::BoxFuture;
use model::{
    RunId,
    turn::{Beat, Begin, Entry, Finished, Settled},
};
use turn::{Ledger, LedgerError};

use crate::host::Host;

/// Keeps the turns of one worker in the store.
pub struct StoreLedger {
    host: Host,
}

impl StoreLedger {
    /// The ledger of a host's worker.
    pub fn new(host: Host) -> Self {
        Self { host }
    }
}

fn failed(error: store::Error) -> LedgerError {
    let transient = error.is_transient();
    LedgerError {
        source: Box::new(error),
        transient,
    }
}

impl Ledger for StoreLedger {
    fn begin(&self, run: RunId) -> BoxFuture<'_, Result<Begin, LedgerError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            store
                .begin(run, worker, *instance, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<Beat, LedgerError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let answers = store
                .heartbeat(worker, &[run], self.host.now())
                .await
                .map_err(failed)?;
            Ok(answers.into_iter().next().unwrap_or(Beat::Lost))
        })
    }

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<Settled, LedgerError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .record(run, worker, &entries, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn live(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<Settled, LedgerError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let position = i64::try_from(position).unwrap_or(i64::MAX);
            store
                .write_live(run, worker, position, &text, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn finish(
        &self,
        run: RunId,
        finished: Finished,
    ) -> BoxFuture<'_, Result<Settled, LedgerError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .finish(run, worker, &finished, self.host.now())
                .await
                .map_err(failed)
        })
    }
}
