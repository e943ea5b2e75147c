//! The storage port of a turn over the store: each lasting effect of a turn becomes one transaction.
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
    approval::ApprovalRequest,
    budget::Accounts,
    outcome::Outcome,
    permission::Verdict,
    question::Elicitation,
    run::{Origin, RunStatus},
    turn::{DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnResult, WriteOutcome},
};
use serde_json::Value;
use store::Scope;
use tokio::time::Instant;
use turn::{TurnStore, TurnStoreError};

use crate::{
    Error, approval_request,
    approval_waits::{ApprovalWaits, TurnApprovalWaits},
    directories,
    host::Host,
};

/// The storage port that writes the turns of one worker to the store.
pub struct WorkerTurnStore {
    host: Host,
    /// The turns that have begun and not ended, for metrics and approvals.
    running: Mutex<HashMap<RunId, RunningTurn>>,
    /// The approvals that the turn waits for.
    approval_waits: TurnApprovalWaits,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    directory: Option<String>,
}

/// A turn under way.
struct RunningTurn {
    origin: Origin,
    session: SessionId,
    started_at: Instant,
}

impl WorkerTurnStore {
    /// Returns the storage port for the worker of `host`.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            running: Mutex::default(),
            approval_waits: TurnApprovalWaits::default(),
            directory: None,
        }
    }

    /// Returns the same port, which counts its turn in `waits` while the turn waits for an approval.
    pub(crate) fn with_approval_waits(mut self, waits: ApprovalWaits) -> Self {
        self.approval_waits = TurnApprovalWaits::new(waits);
        self
    }

    /// Returns the same port, which refuses its run if a directory is not on this server.
    pub(crate) fn with_directory(mut self, directory: Option<String>) -> Self {
        self.directory = directory;
        self
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RunId, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn track_start(
        &self,
        run: RunId,
        reply: Result<StartReply, store::Error>,
    ) -> Result<StartReply, TurnStoreError> {
        let reply = reply.map_err(turn_store_error)?;
        if let StartReply::Started(assignment) = &reply {
            let session = tracing::field::display(assignment.session.id);
            tracing::Span::current().record("session", session);
            let turn = RunningTurn {
                origin: assignment.run.origin,
                session: assignment.session.id,
                started_at: Instant::now(),
            };
            self.running().insert(run, turn);
        }
        Ok(reply)
    }

    /// Counts the end of a turn in the metrics, after the end has been written.
    async fn count_end(&self, run: RunId, outcome: &Outcome) {
        let Some(RunningTurn {
            origin, started_at, ..
        }) = self.running().remove(&run)
        else {
            return;
        };
        let duration = started_at.elapsed();
        let status = match outcome.status() {
            // The store records a failed turn as cancelled if it was cancelled meanwhile, so the status must be read.
            RunStatus::Failed => match self.host.store.run(Scope::System, run).await {
                Ok(run) => run.status(),
                Err(_) => RunStatus::Failed,
            },
            status => status,
        };
        self.host.metrics.record_turn_end(status, origin, duration);
    }
}

fn turn_store_error(error: store::Error) -> TurnStoreError {
    let transient = error.is_transient();
    TurnStoreError {
        source: Box::new(error),
        transient,
    }
}

impl TurnStore for WorkerTurnStore {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply, TurnStoreError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            if let Some(directory) = &self.directory
                && !directories::is_here(directory).await
            {
                let refused = store.refuse_directory(run, worker, *instance, self.host.now());
                return self.track_start(run, refused.await);
            }
            let starting = store.begin(run, worker, *instance, self.host.now(), Some(secret));
            self.track_start(run, starting.await)
        })
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply, TurnStoreError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            let starting =
                store.begin_after_precheck(run, worker, *instance, self.host.now(), Some(secret));
            self.track_start(run, starting.await)
        })
    }

    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<DeclineOutcome, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .decline(run, worker, &diagnostics, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<HeartbeatReply, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            store
                .renew_heartbeat(run, worker, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .record(run, worker, &entries, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let position = i64::try_from(position).unwrap_or(i64::MAX);
            store
                .append_live_text(run, worker, position, &text, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn record_usage(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .record_usage(run, worker, &usage, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn request_approval(
        &self,
        run: RunId,
        permission: ApprovalRequest,
        decision_timeout: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        Box::pin(async move {
            // The guard lends the slot until the answer arrives or this future is dropped.
            let _waits = self.approval_waits.begin();
            let session = self.running().get(&run).map(|turn| turn.session);
            approval_request::request_approval(
                &self.host,
                run,
                session,
                &permission,
                decision_timeout,
            )
            .await
            .map_err(turn_store_error)
        })
    }

    fn request_answer(
        &self,
        run: RunId,
        question: Elicitation,
        answer_timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<Value>, TurnStoreError>> {
        Box::pin(async move {
            // The guard lends the slot until the answer arrives or this future is dropped.
            let _waits = self.approval_waits.begin();
            let session = self.running().get(&run).map(|turn| turn.session);
            approval_request::request_answer(&self.host, run, session, &question, answer_timeout)
                .await
                .map_err(turn_store_error)
        })
    }

    fn withdraw_approvals(
        &self,
        run: RunId,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            store
                .withdraw_approvals(run, worker, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }

    fn finish(
        &self,
        run: RunId,
        finished: TurnResult,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        let Host { store, worker, .. } = &self.host;
        Box::pin(async move {
            let outcome = store
                .finish(run, worker, &finished, self.host.now())
                .await
                .map_err(turn_store_error)?;
            // Only the worker that wrote the end counts it. A worker that lost the run would count it twice.
            if outcome == WriteOutcome::Committed {
                self.count_end(run, &finished.outcome).await;
            }
            Ok(outcome)
        })
    }
}
