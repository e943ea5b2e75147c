//! The storage port of a turn over the store: each lasting effect of a turn becomes one transaction.
//!
//! **Invariants:** every write names the run and this worker, so that the store rejects writes to a run that the
//! worker has lost. While the time is unknown, no turn begins and no heartbeat is renewed.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    RunId,
    approval::ApprovalRequest,
    budget::Accounts,
    permission::Verdict,
    question::Elicitation,
    turn::{
        DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnAssignment, TurnResult, WriteOutcome,
    },
};
use serde_json::Value;
use turn::{TurnStore, TurnStoreError, is_directory_here};

use crate::{
    Error, approval_request,
    host::{Host, TurnStores},
};

/// Opens storage ports over the store of a host.
#[derive(Debug, Clone, Copy)]
pub struct DirectTurnStores;

impl TurnStores for DirectTurnStores {
    fn open(&self, host: &Host, directory: Option<String>) -> Box<dyn TurnStore> {
        Box::new(DirectTurnStore {
            host: host.clone(),
            directory,
        })
    }
}

/// The storage port that writes the turns of one worker to the store.
struct DirectTurnStore {
    host: Host,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    directory: Option<String>,
}

impl DirectTurnStore {
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
}

fn turn_store_error(error: store::Error) -> TurnStoreError {
    let transient = error.is_transient();
    TurnStoreError {
        source: Box::new(error),
        transient,
    }
}

impl TurnStore for DirectTurnStore {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        let Host {
            store,
            worker,
            instance,
            ..
        } = &self.host;
        Box::pin(async move {
            self.require_known_time()?;
            let reply = if let Some(directory) = &self.directory
                && !is_directory_here(directory).await
            {
                let now = self.host.now();
                store.refuse_directory(run, worker, *instance, now).await
            } else {
                let now = self.host.now();
                store.begin(run, worker, *instance, now, Some(secret)).await
            };
            reply.map(StartReply::for_turn).map_err(turn_store_error)
        })
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
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
            let reply = starting.await;
            reply.map(StartReply::for_turn).map_err(turn_store_error)
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
            approval_request::request_approval(&self.host, run, &permission, decision_timeout)
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
            approval_request::request_answer(&self.host, run, &question, answer_timeout)
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
            store
                .finish(run, worker, &finished, self.host.now())
                .await
                .map_err(turn_store_error)
        })
    }
}
