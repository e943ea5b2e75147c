//! The storage port of a turn over the API.
//!
//! **Invariant:** an error is marked as transient if the same call may succeed later: the network broke, the server is
//! away, busy or uncertain about the time, or a program between the two answered in its place.

use std::{path::PathBuf, sync::Arc, time::Duration};

use client::{Error, RuntimeClient};
use futures::future::BoxFuture;
use model::{
    ApprovalId, Clock, Entropy, QuestionId, RunId,
    approval::{ApprovalRequest, ApprovalStatus},
    budget::Accounts,
    outcome::{FailureKind, Outcome, RunFailure},
    permission::Verdict,
    question::Elicitation,
    turn::{
        DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnAssignment, TurnResult, WriteOutcome,
    },
};
use runtime_api::{
    InvalidField, MAX_WAIT_MILLIS, RECORD_BATCH_BYTES,
    approvals::{self, WaitRequest},
    begin::{BeginReply, BeginRequest, DeclineRequest},
    writes::{LiveTextRequest, RecordRequest, UsageRequest},
};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use turn::{TurnStore, TurnStoreError, is_directory_here};

use crate::turn_slots::TurnWaits;

/// The pause between two attempts to ask people while the server is away. The attempts end when the turn's own limits do.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The conditions of the turns of a runtime.
#[derive(Clone)]
pub struct TurnContext {
    /// The client, with the token of the instance and the worker that takes the turns.
    pub client: RuntimeClient,
    /// The clock, which follows the server.
    pub clock: Arc<dyn Clock>,
    /// The source of the randomness in IDs.
    pub entropy: Arc<dyn Entropy>,
    /// The folder below which sessions have folders of their own. It must be an absolute path.
    pub session_folders: PathBuf,
    /// The time that an agent may live after a heartbeat.
    pub lease: Duration,
}

/// The storage port that writes the turns of a runtime over the API.
pub struct ApiTurnStore {
    context: TurnContext,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    directory: Option<String>,
    /// The names of the agents that may start on this machine. `None` allows all.
    allowed_agents: Option<Vec<String>>,
    /// Counts the waits of the turn for people. `None` if the turn has no slot to lend.
    waits: Option<TurnWaits>,
}

impl ApiTurnStore {
    /// Returns the storage port of a turn. It refuses the run if `directory`, which a person gave the session, is not on
    /// this machine.
    pub fn new(context: TurnContext, directory: Option<String>) -> Self {
        Self {
            context,
            directory,
            allowed_agents: None,
            waits: None,
        }
    }

    /// Returns the same port, which fails a run of an agent with another name before anything starts.
    #[must_use]
    pub fn with_allowed_agents(mut self, names: Option<Vec<String>>) -> Self {
        self.allowed_agents = names;
        self
    }

    /// Returns the same port, which counts the waits for people.
    #[must_use]
    pub(crate) fn with_waits(mut self, waits: TurnWaits) -> Self {
        self.waits = Some(waits);
        self
    }

    fn client(&self) -> &RuntimeClient {
        &self.context.client
    }

    async fn start_reply(
        &self,
        run: RunId,
        reply: Result<BeginReply, Error>,
    ) -> Result<StartReply<TurnAssignment>, TurnStoreError> {
        let reply = reply.map_err(api_error)?;
        let read = reply.into_domain(&self.context.session_folders);
        let reply = read.map_err(|error: InvalidField| TurnStoreError {
            source: Box::new(error),
            transient: false,
        })?;
        let StartReply::Started(assignment) = &reply else {
            return Ok(reply);
        };
        let Some(failure) = self.refusal_of_agent(&assignment.agent_name) else {
            return Ok(reply);
        };
        // The turn has begun at the server, so it must end there. If the write fails, the next `begin` returns the same
        // assignment.
        let refused = TurnResult::with_outcome(Outcome::Failed(failure.clone()));
        Ok(match self.finish(run, refused).await? {
            WriteOutcome::Committed => StartReply::Refused(failure),
            WriteOutcome::Fenced => StartReply::Fenced,
        })
    }

    /// Returns the failure of a run whose agent may not start on this machine.
    fn refusal_of_agent(&self, agent: &str) -> Option<RunFailure> {
        let allowed = self.allowed_agents.as_ref()?;
        if allowed.iter().any(|name| name == agent) {
            return None;
        }
        let names: Vec<String> = allowed
            .iter()
            .map(|name| format!("`{}`", name.escape_debug()))
            .collect();
        let message = format!(
            "the runtime of this instance does not start agent `{}`: accepted are {} (`--agents`)",
            agent.escape_debug(),
            names.join(", ")
        );
        Some(RunFailure {
            kind: FailureKind::Settings,
            prompted: false,
            message,
        })
    }

    /// Returns the longest wait for the response to a heartbeat. Several tries fit into a lease.
    fn heartbeat_timeout(&self) -> Duration {
        self.context.lease / 4
    }
}

fn api_error(error: Error) -> TurnStoreError {
    let transient = error.is_transient() || matches!(error, Error::Malformed { .. });
    TurnStoreError {
        source: Box::new(error),
        transient,
    }
}

/// Splits rows into batches of about [`RECORD_BATCH_BYTES`], so that a row that is written again does not send all others
/// with it.
fn batches(entries: Vec<Entry>) -> Vec<Vec<runtime_api::writes::Entry>> {
    let mut batches: Vec<Vec<_>> = Vec::new();
    let mut left = 0;
    for entry in entries {
        let bytes = entry.content.len() + entry.metadata.to_string().len();
        if batches.is_empty() || bytes > left {
            batches.push(Vec::new());
            left = RECORD_BATCH_BYTES;
        }
        left = left.saturating_sub(bytes);
        if let Some(batch) = batches.last_mut() {
            batch.push(entry.into());
        }
    }
    batches
}

/// Repeats a call as long as its error is transient.
async fn retry_transient<'a, T>(
    call: impl Fn() -> BoxFuture<'a, Result<T, Error>>,
) -> Result<T, TurnStoreError> {
    loop {
        match call().await.map_err(api_error) {
            Err(error) if error.transient => {
                tracing::warn!(error = %error.source, "cannot ask a person, will retry");
                sleep(RETRY_PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Returns the next request to wait for people. After the deadline, the request expires.
fn wait_until(deadline: Instant, now: Instant) -> WaitRequest {
    let left = deadline.saturating_duration_since(now);
    // Rounded up, so that a wait does not end just before its deadline.
    let left = u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
    WaitRequest {
        wait_millis: left.min(MAX_WAIT_MILLIS),
        expire: left == 0,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl TurnStore for ApiTurnStore {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        Box::pin(async move {
            let directory_missing = match &self.directory {
                Some(directory) => !is_directory_here(directory).await,
                None => false,
            };
            let request = BeginRequest {
                secret_hash: secret,
                directory_missing,
            };
            let reply = self.client().begin(run, &request).await;
            self.start_reply(run, reply).await
        })
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        Box::pin(async move {
            let request = BeginRequest {
                secret_hash: secret,
                directory_missing: false,
            };
            let reply = self.client().begin_after_precheck(run, &request).await;
            self.start_reply(run, reply).await
        })
    }

    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<DeclineOutcome, TurnStoreError>> {
        Box::pin(async move {
            let request = DeclineRequest { diagnostics };
            let reply = self.client().decline(run, &request).await;
            reply.map(Into::into).map_err(api_error)
        })
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<HeartbeatReply, TurnStoreError>> {
        Box::pin(async move {
            let reply = self.client().heartbeat(run, self.heartbeat_timeout()).await;
            reply.map(Into::into).map_err(api_error)
        })
    }

    fn record(
        &self,
        run: RunId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(async move {
            // A repetition after an error writes the earlier batches again, which replaces their rows.
            for entries in batches(entries) {
                let written = self.client().record(run, &RecordRequest { entries }).await;
                if WriteOutcome::from(written.map_err(api_error)?) == WriteOutcome::Fenced {
                    return Ok(WriteOutcome::Fenced);
                }
            }
            Ok(WriteOutcome::Committed)
        })
    }

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(async move {
            let request = LiveTextRequest { position, text };
            let written = self.client().append_live_text(run, &request).await;
            written.map(Into::into).map_err(api_error)
        })
    }

    fn record_usage(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        Box::pin(async move {
            let request = UsageRequest { usage };
            let reply = self.client().record_usage(run, &request).await;
            let accounts = reply.map_err(api_error)?.accounts;
            let accounts = accounts.map(runtime_api::accounts::Accounts::into_domain);
            accounts.transpose().map_err(|error| TurnStoreError {
                source: Box::new(error),
                transient: false,
            })
        })
    }

    fn request_approval(
        &self,
        run: RunId,
        permission: ApprovalRequest,
        decision_timeout: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        Box::pin(async move {
            // The slot is lent until the answer arrives or this future is dropped.
            let _wait = self.waits.as_ref().map(TurnWaits::begin);
            // 1. Write the request. The ID is chosen here, outside the retries, so that a retry after a lost response
            // does not create a second request.
            let deadline = Instant::now() + decision_timeout;
            let TurnContext { clock, entropy, .. } = &self.context;
            let id = ApprovalId::generate(clock.now(), &**entropy);
            let request = approvals::ApprovalRequest {
                id,
                timeout_millis: millis(decision_timeout),
                permission: permission.into(),
            };
            let written =
                retry_transient(|| Box::pin(self.client().request_approval(run, &request)));
            if WriteOutcome::from(written.await?) == WriteOutcome::Fenced {
                return Ok(Verdict::Deny);
            }
            tracing::info!(%run, approval = %id, "{run} waits for the decision about {id}");
            // 2. Poll for the decision until the deadline, at which the server expires the request.
            loop {
                let request = wait_until(deadline, Instant::now());
                let reply = retry_transient(|| {
                    Box::pin(
                        async move { self.client().wait_for_decision(run, id, &request).await },
                    )
                });
                match reply.await?.state() {
                    ApprovalStatus::Pending if request.expire => return Ok(Verdict::Deny),
                    ApprovalStatus::Pending => {}
                    state => return Ok(state.verdict().unwrap_or(Verdict::Deny)),
                }
            }
        })
    }

    fn request_answer(
        &self,
        run: RunId,
        question: Elicitation,
        answer_timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<Value>, TurnStoreError>> {
        Box::pin(async move {
            let _wait = self.waits.as_ref().map(TurnWaits::begin);
            // 1. Write the question, as a request is written above.
            let deadline = Instant::now() + answer_timeout;
            let TurnContext { clock, entropy, .. } = &self.context;
            let id = QuestionId::generate(clock.now(), &**entropy);
            let request = approvals::QuestionRequest {
                id,
                timeout_millis: millis(answer_timeout),
                question: question.into(),
            };
            let written = retry_transient(|| Box::pin(self.client().request_answer(run, &request)));
            if WriteOutcome::from(written.await?) == WriteOutcome::Fenced {
                return Ok(None);
            }
            tracing::info!(%run, question = %id, "{run} waits for the answer to {id}");
            // 2. Poll for the answer until the deadline, at which the default counts.
            loop {
                let request = wait_until(deadline, Instant::now());
                let reply = retry_transient(|| {
                    Box::pin(async move { self.client().wait_for_answer(run, id, &request).await })
                });
                let reply = reply.await?;
                if !reply.pending || request.expire {
                    return Ok(reply.answer);
                }
            }
        })
    }

    fn withdraw_approvals(
        &self,
        run: RunId,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(async move {
            let written = self.client().withdraw(run).await;
            written.map(Into::into).map_err(api_error)
        })
    }

    fn finish(
        &self,
        run: RunId,
        finished: TurnResult,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        Box::pin(async move {
            let written = self.client().finish(run, &finished.into()).await;
            written.map(Into::into).map_err(api_error)
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{
        MessageId,
        turn::{EntryKind, Role},
    };
    use uuid::Uuid;

    use super::*;

    fn entry(bytes: usize) -> Entry {
        Entry {
            id: MessageId::from_uuid(Uuid::from_u128(1)),
            role: Role::Assistant,
            kind: EntryKind::Message,
            content: "x".repeat(bytes),
            metadata: Value::Null,
        }
    }

    #[test]
    fn rows_are_sent_in_batches_of_limited_size_in_order() {
        assert!(batches(Vec::new()).is_empty());
        let half = RECORD_BATCH_BYTES / 2;
        let sizes = [1, half, half, 4 * RECORD_BATCH_BYTES, 1, 1];
        let sent = batches(sizes.iter().map(|bytes| entry(*bytes)).collect());
        let counts: Vec<usize> = sent.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 1, 1, 2]);
        let back = sent.into_iter().flatten().map(Entry::from);
        let back: Vec<usize> = back.map(|entry| entry.content.len()).collect();
        assert_eq!(back, sizes);
    }

    #[test]
    fn wait_ends_at_deadline_and_expires_the_request_after_it() {
        let now = Instant::now();
        let deadline = now + Duration::from_micros(20_500_100);
        assert_eq!(wait_until(deadline, now).wait_millis, MAX_WAIT_MILLIS);
        let later = now + Duration::from_secs(20);
        let last = wait_until(deadline, later);
        assert_eq!((last.wait_millis, last.expire), (501, false));
        assert!(wait_until(deadline, later + Duration::from_millis(501)).expire);
    }
}
