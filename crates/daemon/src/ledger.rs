//! The `Ledger` of a turn over the store: the lasting effects of one turn become store transactions.
//!
//! **Invariants:** every write names the run and this worker, so that the store rejects writes to a run that the
//! worker has lost. While the time is unknown, no turn begins and no heartbeat is renewed.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use model::{
    RunId, SessionId,
    approval::Question,
    budget::Accounts,
    outcome::Outcome,
    permission::Verdict,
    run::{Origin, RunStatus},
    turn::{Beat, Begin, Declined, Entry, Finished, Settled},
};
use serde_json::Value;
use store::Scope;
use tokio::time::Instant;
use turn::{Ledger, TurnStoreError};

use crate::{
    Error, asking,
    host::Host,
    waits::{TurnApprovalWaits, Waits},
};

/// A ledger that writes the turns of one worker to the store.
pub struct WorkerTurnStore {
    host: Host,
    /// The turns that have begun and not ended, for metrics and approvals.
    begun: Mutex<HashMap<RunId, Begun>>,
    /// The approvals that the turn waits for.
    waits: TurnApprovalWaits,
}

/// A turn under way.
struct Begun {
    origin: Origin,
    session: SessionId,
    at: Instant,
}

impl WorkerTurnStore {
    /// Returns a ledger for the worker of `host`.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            begun: Mutex::default(),
            waits: TurnApprovalWaits::default(),
        }
    }

    /// Returns the same ledger, which counts its turn in `waits` while the turn waits for an approval.
    pub(crate) fn with_approval_waits(mut self, waits: Waits) -> Self {
        self.waits = TurnApprovalWaits::of(waits);
        self
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<RunId, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an error while the time is unknown. A heartbeat with a wrong date could look stale while the lease
    /// that it renewed still lets the agent live, so that two workers would run one session.
    ///
    /// # Errors
    ///
    /// The error is marked as transient, because the time may become known again.
    fn require_known_time(&self) -> Result<(), TurnStoreError> {
        if self.host.time_is_known() {
            return Ok(());
        }
        let uncertainty = self.host.settings.clock_uncertainty();
        Err(TurnStoreError {
            source: Box::new(Error::TimeUnknown(uncertainty)),
            transient: true,
        })
    }

    /// Remembers a turn that has begun, and names its session in the tracing span.
    fn note(
        &self,
        run: RunId,
        begun: Result<Begin, store::Error>,
    ) -> Result<Begin, TurnStoreError> {
        let begun = begun.map_err(failed)?;
        if let Begin::Started(assignment) = &begun {
            let session = tracing::field::display(assignment.session.id);
            tracing::Span::current().record("session", session);
            let begun = Begun {
                origin: assignment.run.origin,
                session: assignment.session.id,
                at: Instant::now(),
            };
            self.begun().insert(run, begun);
        }
        Ok(begun)
    }

    /// Counts the end of a turn in the metrics, after the end has been written.
    async fn count(&self, run: RunId, outcome: &Outcome) {
        let Some(Begun { origin, at, .. }) = self.begun().remove(&run) else {
            return;
        };
        let took = at.elapsed();
        let status = match outcome.status() {
            // The store records a failed turn as cancelled if it was cancelled meanwhile, so the status must be read.
            RunStatus::Failed => match self.host.store.run(Scope::System, run).await {
                Ok(run) => run.status(),
                Err(_) => RunStatus::Failed,
            },
            status => status,
        };
        self.host.metrics.ended(status, origin, took);
    }
}

fn failed(error: store::Error) -> TurnStoreError {
    let transient = error.is_transient();
    TurnStoreError {
        source: Box::new(error),
        transient,
    }
}

impl Ledger for WorkerTurnStore {
    fn begin(&self, run: RunId) -> BoxFuture<'_, Result<Begin, TurnStoreError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            let begun = store.begin(run, worker, *instance, self.host.now());
            self.note(run, begun.await)
        })
    }

    fn begin_asked(&self, run: RunId) -> BoxFuture<'_, Result<Begin, TurnStoreError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            let begun = store.begin_asked(run, worker, *instance, self.host.now());
            self.note(run, begun.await)
        })
    }

    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<Declined, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .decline(run, worker, &diagnostics, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<Beat, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            store
                .beat(run, worker, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
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
    ) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let position = i64::try_from(position).unwrap_or(i64::MAX);
            store
                .write_live(run, worker, position, &text, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn spend(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .spend(run, worker, &usage, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn ask(
        &self,
        run: RunId,
        question: Question,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        Box::pin(async move {
            // The guard lends the slot until the answer arrives or this future is dropped.
            let _waits = self.waits.begin();
            let session = self.begun().get(&run).map(|begun| begun.session);
            asking::ask(&self.host, run, session, &question, patience)
                .await
                .map_err(failed)
        })
    }

    fn withdraw(&self, run: RunId) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .withdraw(run, worker, self.host.now())
                .await
                .map_err(failed)
        })
    }

    fn finish(
        &self,
        run: RunId,
        finished: Finished,
    ) -> BoxFuture<'_, Result<Settled, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let settled = store
                .finish(run, worker, &finished, self.host.now())
                .await
                .map_err(failed)?;
            // Only the worker that wrote the end counts it. A worker that lost the run would count it twice.
            if settled == Settled::Written {
                self.count(run, &finished.outcome).await;
            }
            Ok(settled)
        })
    }
}
