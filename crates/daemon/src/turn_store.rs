//! The storage port of the turns of one worker: counts turns and their waits, and passes each call on to the storage
//! that [`Host::turn_stores`] opens.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use model::{
    RunId,
    approval::ApprovalRequest,
    budget::Accounts,
    outcome::Outcome,
    permission::Verdict,
    question::Elicitation,
    run::{Origin, RunStatus},
    turn::{
        DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnAssignment, TurnResult, WriteOutcome,
    },
};
use serde_json::Value;
use store::Scope;
use tokio::time::Instant;
use turn::{TurnStore, TurnStoreError};

use crate::{
    approval_waits::{ApprovalWaits, TurnApprovalWaits},
    host::Host,
};

/// The storage port of the turns of one worker.
pub struct WorkerTurnStore {
    host: Host,
    storage: Box<dyn TurnStore>,
    /// The turns that have begun and not ended, for metrics.
    running: Mutex<HashMap<RunId, RunningTurn>>,
    /// The approvals that the turn waits for.
    approval_waits: TurnApprovalWaits,
}

/// A turn under way.
struct RunningTurn {
    origin: Origin,
    started_at: Instant,
}

impl WorkerTurnStore {
    /// Returns the storage port for the worker of `host`.
    pub fn new(host: Host) -> Self {
        Self::for_turn(host, None, ApprovalWaits::default())
    }

    /// Returns the storage port of one turn. The turn counts in `waits` while it waits for an approval, and its run is
    /// refused if `directory`, which a person gave the session, is not on this server.
    pub(crate) fn for_turn(host: Host, directory: Option<String>, waits: ApprovalWaits) -> Self {
        Self {
            storage: host.turn_stores.open(&host, directory),
            host,
            running: Mutex::default(),
            approval_waits: TurnApprovalWaits::new(waits),
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RunId, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a turn that has begun, and names its session in the tracing span.
    fn track_start(
        &self,
        run: RunId,
        reply: StartReply<TurnAssignment>,
    ) -> StartReply<TurnAssignment> {
        if let StartReply::Started(assignment) = &reply {
            let session = tracing::field::display(assignment.session);
            tracing::Span::current().record("session", session);
            let turn = RunningTurn {
                origin: assignment.origin,
                started_at: Instant::now(),
            };
            self.running().insert(run, turn);
        }
        reply
    }

    /// Counts the end of a turn in the metrics, after the end has been written.
    async fn count_end(&self, run: RunId, outcome: &Outcome) {
        let Some(RunningTurn { origin, started_at }) = self.running().remove(&run) else {
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

impl TurnStore for WorkerTurnStore {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        Box::pin(async move {
            let reply = self.storage.begin(run, secret).await?;
            Ok(self.track_start(run, reply))
        })
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        Box::pin(async move {
            let reply = self.storage.begin_after_precheck(run, secret).await?;
            Ok(self.track_start(run, reply))
        })
    }

    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<DeclineOutcome, TurnStoreError>> {
        self.storage.decline(run, diagnostics)
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<HeartbeatReply, TurnStoreError>> {
        self.storage.heartbeat(run)
    }

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.storage.record(run, entries)
    }

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.storage.append_live_text(run, position, text)
    }

    fn record_usage(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        self.storage.record_usage(run, usage)
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
            self.storage
                .request_approval(run, permission, decision_timeout)
                .await
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
            self.storage
                .request_answer(run, question, answer_timeout)
                .await
        })
    }

    fn withdraw_approvals(
        &self,
        run: RunId,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.storage.withdraw_approvals(run)
    }

    fn finish(
        &self,
        run: RunId,
        finished: TurnResult,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(async move {
            let outcome = finished.outcome.clone();
            let written = self.storage.finish(run, finished).await?;
            // Only the worker that wrote the end counts it. A worker that lost the run would count it twice.
            if written == WriteOutcome::Committed {
                self.count_end(run, &outcome).await;
            }
            Ok(written)
        })
    }
}
