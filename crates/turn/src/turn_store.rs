//! The storage port of a turn.
//!
//! Every write of a turn is fenced: if this worker no longer owns the run, the store writes nothing and reports that
//! the run is lost.

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

/// A failed call of the storage port. A write may or may not have been committed; every write can be repeated safely.
#[derive(Debug, thiserror::Error)]
#[error("the store of the turn reported an error")]
pub struct TurnStoreError {
    /// The cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
    /// `true` if the same call may succeed later, for example because the database is unreachable or busy.
    pub transient: bool,
}

/// The storage port of a turn. The implementation of a worker writes to the database.
pub trait TurnStore: Send + Sync {
    /// Begins the turn of a run that this worker has claimed. `secret` is the SHA-256 of the run's secret. A repetition
    /// with the same secret returns the same assignment. Returns [`StartReply::Fenced`] if the turn has begun with
    /// another secret, or if this worker no longer owns the run.
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>>;

    /// Begins the turn after its precheck has run and has not declined it.
    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>>;

    /// Skips a run that its precheck has declined, and stores the diagnostics.
    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<DeclineOutcome, TurnStoreError>>;

    /// Renews the heartbeat of the run, and returns whether the turn may continue.
    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<HeartbeatReply, TurnStoreError>>;

    /// Writes rows of the transcript. A row whose ID already exists is replaced.
    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>>;

    /// Appends to the live text for viewers, at a position in bytes.
    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>>;

    /// Writes the usage of the turn so far, as its agent reports it. Returns the budgets that limit the turn from now
    /// on. Returns `None` if this worker no longer owns the run.
    fn record_usage(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>>;

    /// Requests a person's approval and waits for the decision, for at most `decision_timeout`; afterwards the
    /// request is denied. If the future is dropped, the request remains open until it is withdrawn or the run ends.
    fn request_approval(
        &self,
        run: RunId,
        permission: ApprovalRequest,
        decision_timeout: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>>;

    /// Asks people a question and waits for the answer, for at most `answer_timeout`; afterwards the default of the
    /// question counts. Returns `None` if there is no answer. If the future is dropped, the question remains open until
    /// it is withdrawn or the run ends.
    fn request_answer(
        &self,
        run: RunId,
        question: Elicitation,
        answer_timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<Value>, TurnStoreError>>;

    /// Withdraws the open requests of the run, because its agent no longer waits for the answers.
    fn withdraw_approvals(&self, run: RunId)
    -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>>;

    /// Finishes the run, or requeues a run that has not begun.
    fn finish(
        &self,
        run: RunId,
        finished: TurnResult,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>>;
}
