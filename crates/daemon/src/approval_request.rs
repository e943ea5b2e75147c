//! Requests an approval or an answer on behalf of a turn, and waits for it. People may decide and answer on any server.
//!
//! **Invariant:** without a decision the request is denied: at its deadline, or if the run is lost. Without an answer the
//! default of the question counts at its deadline, and there is no answer if the run is lost.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    ApprovalId, QuestionId, RunId,
    approval::ApprovalRequest,
    permission::Verdict,
    question::{Elicitation, QuestionStatus},
    turn::WriteOutcome,
};
use serde_json::Value;
use store::Error;
use tokio::time::{Instant, sleep};

use crate::Host;

/// The pause between two attempts while the database is unavailable. The attempts end when the turn's own limits do.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Requests an approval for a run and waits for the decision. Returns [`Verdict::Deny`] if no decision is made within
/// `decision_timeout`, or if the run is no longer this worker's.
///
/// # Errors
///
/// Returns an error of the store that is not transient. Transient errors are retried.
pub(crate) async fn request_approval(
    host: &Host,
    run: RunId,
    permission: &ApprovalRequest,
    decision_timeout: Duration,
) -> Result<Verdict, Error> {
    // 1. Write the request.
    let Host { store, worker, .. } = host;
    let deadline_instant = Instant::now() + decision_timeout;
    let now = host.now();
    let (id, deadline) = (
        ApprovalId::generate(now, &*host.entropy),
        now + decision_timeout,
    );
    // The ID is chosen above, outside the retries, so that a retry after a lost reply does not create a second request.
    let requested = retry_transient(|| {
        Box::pin(store.request_approval(run, worker, id, permission, deadline, now))
    })
    .await?;
    if requested == WriteOutcome::Fenced {
        return Ok(Verdict::Deny);
    }
    tracing::info!(%run, approval = %id, "{run} waits for the decision about {id}");
    // 2. Wait for the decision until the deadline.
    let state = retry_transient(|| Box::pin(store.wait_for_decision(id, deadline_instant))).await?;
    if let Some(verdict) = state.verdict() {
        return Ok(verdict);
    }
    // 3. Expire the request. `expire_approval` returns the decision if one was made at the last moment, and that
    // decision counts.
    let state = retry_transient(|| Box::pin(store.expire_approval(id, host.now()))).await?;
    Ok(state.verdict().unwrap_or(Verdict::Deny))
}

/// Asks a question for a run and waits for the answer. Returns the default if no person answers within `answer_timeout`,
/// and `None` if there is neither, or if the run is no longer this worker's.
///
/// # Errors
///
/// Returns an error of the store that is not transient. Transient errors are retried.
pub(crate) async fn request_answer(
    host: &Host,
    run: RunId,
    question: &Elicitation,
    answer_timeout: Duration,
) -> Result<Option<Value>, Error> {
    // 1. Write the question, as a request is written above.
    let Host { store, worker, .. } = host;
    let deadline_instant = Instant::now() + answer_timeout;
    let now = host.now();
    let (id, deadline) = (
        QuestionId::generate(now, &*host.entropy),
        now + answer_timeout,
    );
    let requested = retry_transient(|| {
        Box::pin(store.request_answer(run, worker, id, question, deadline, now))
    })
    .await?;
    if requested == WriteOutcome::Fenced {
        return Ok(None);
    }
    tracing::info!(%run, question = %id, "{run} waits for the answer to {id}");
    // 2. Wait for the answer until the deadline.
    let state = retry_transient(|| Box::pin(store.wait_for_answer(id, deadline_instant))).await?;
    if state.status() != QuestionStatus::Pending {
        return Ok(state.answer().cloned());
    }
    // 3. Expire the question. An answer of the last moment counts.
    let asked = retry_transient(|| Box::pin(store.expire_question(id, host.now()))).await?;
    Ok(asked.state.answer().cloned())
}

/// Repeats a store call as long as its error is transient.
async fn retry_transient<'a, T>(
    call: impl Fn() -> BoxFuture<'a, Result<T, Error>>,
) -> Result<T, Error> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "cannot ask a person, will retry");
                sleep(RETRY_PAUSE).await;
            }
            done => return done,
        }
    }
}
