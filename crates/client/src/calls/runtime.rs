//! Operations of runtimes, in the name of one worker.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use model::{ApprovalId, QuestionId, RunId, WorkerId};
use runtime_api::{
    PATH, PROTOCOL, PROTOCOL_HEADER, WORKER_HEADER,
    approvals::{ApprovalReply, ApprovalRequest, QuestionReply, QuestionRequest, WaitRequest},
    begin::{BeginReply, BeginRequest, DeclineReply, DeclineRequest},
    presence::{
        ClaimReply, GiveUpReply, GiveUpRequest, PresenceReply, PresenceRequest, RegisterReply,
        RegisterRequest,
    },
    result::TurnResult,
    trigger::{FireReply, FireRequest},
    writes::{
        HeartbeatResponse, LiveTextRequest, RecordRequest, UsageReply, UsageRequest, WriteReply,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Client, Error, boxed, request::Call};

/// A client of the operations of runtimes. Every operation can be repeated, so that the client repeats a request whose
/// connection broke.
#[derive(Debug, Clone)]
pub struct RuntimeClient {
    pub(super) client: Client,
    worker: WorkerId,
}

impl Client {
    /// Returns a client of the operations of runtimes. The client's token must be that of a runtime.
    pub fn runtime(&self, worker: WorkerId) -> RuntimeClient {
        RuntimeClient {
            client: self.clone(),
            worker,
        }
    }
}

impl RuntimeClient {
    /// Returns the worker that the requests name.
    pub const fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// Returns the name of the server in error messages.
    pub fn server_name(&self) -> &str {
        self.client.server_name()
    }

    /// Registers the runtime as the server of its instance.
    #[boxed]
    pub async fn register(&self, request: &RegisterRequest) -> Result<RegisterReply, Error> {
        self.post(&["register"], request).await
    }

    /// Renews the presence of the runtime, and waits until one of its turns should send a heartbeat.
    #[boxed]
    pub async fn presence(&self, request: &PresenceRequest) -> Result<PresenceReply, Error> {
        self.post(&["presence"], request).await
    }

    /// Records that the runtime has shut down.
    #[boxed]
    pub async fn stop(&self) -> Result<(), Error> {
        self.call(&["stop"])?.send().await.map(|_| ())
    }

    /// Gives up the runs of workers that no longer run.
    #[boxed]
    pub async fn give_up(&self, request: &GiveUpRequest) -> Result<GiveUpReply, Error> {
        self.post(&["give-up"], request).await
    }

    /// Requests a run for a trigger file of another program.
    #[boxed]
    pub async fn fire(&self, request: &FireRequest) -> Result<FireReply, Error> {
        self.post(&["triggers"], request).await
    }

    /// Claims a run.
    #[boxed]
    pub async fn claim(&self, run: RunId) -> Result<ClaimReply, Error> {
        self.call_run(run, &["claim"])?.fetch().await
    }

    /// Begins the turn of a claimed run.
    #[boxed]
    pub async fn begin(&self, run: RunId, request: &BeginRequest) -> Result<BeginReply, Error> {
        self.post_run(run, &["begin"], request).await
    }

    /// Begins the turn of a run whose precheck has not declined it.
    #[boxed]
    pub async fn begin_after_precheck(
        &self,
        run: RunId,
        request: &BeginRequest,
    ) -> Result<BeginReply, Error> {
        self.post_run(run, &["begin-after-precheck"], request).await
    }

    /// Skips a run that its precheck has declined.
    #[boxed]
    pub async fn decline(
        &self,
        run: RunId,
        request: &DeclineRequest,
    ) -> Result<DeclineReply, Error> {
        self.post_run(run, &["decline"], request).await
    }

    /// Renews the heartbeat of a run. Returns an error if there is no response within `timeout`.
    #[boxed]
    pub async fn heartbeat(
        &self,
        run: RunId,
        timeout: Duration,
    ) -> Result<HeartbeatResponse, Error> {
        self.call_run(run, &["heartbeat"])?
            .with_timeout(timeout)
            .fetch()
            .await
    }

    /// Writes rows of the transcript.
    #[boxed]
    pub async fn record(&self, run: RunId, request: &RecordRequest) -> Result<WriteReply, Error> {
        self.post_run(run, &["record"], request).await
    }

    /// Appends to the live text for viewers.
    #[boxed]
    pub async fn append_live_text(
        &self,
        run: RunId,
        request: &LiveTextRequest,
    ) -> Result<WriteReply, Error> {
        self.post_run(run, &["live-text"], request).await
    }

    /// Writes the usage of the turn so far.
    #[boxed]
    pub async fn record_usage(
        &self,
        run: RunId,
        request: &UsageRequest,
    ) -> Result<UsageReply, Error> {
        self.post_run(run, &["usage"], request).await
    }

    /// Requests a person's approval.
    #[boxed]
    pub async fn request_approval(
        &self,
        run: RunId,
        request: &ApprovalRequest,
    ) -> Result<WriteReply, Error> {
        self.post_run(run, &["approvals"], request).await
    }

    /// Waits for the decision about an approval.
    #[boxed]
    pub async fn wait_for_decision(
        &self,
        run: RunId,
        id: ApprovalId,
        request: &WaitRequest,
    ) -> Result<ApprovalReply, Error> {
        let path = ["approvals", &id.to_string(), "wait"];
        self.post_run(run, &path, request).await
    }

    /// Asks a person a question.
    #[boxed]
    pub async fn request_answer(
        &self,
        run: RunId,
        request: &QuestionRequest,
    ) -> Result<WriteReply, Error> {
        self.post_run(run, &["questions"], request).await
    }

    /// Waits for the answer to a question.
    #[boxed]
    pub async fn wait_for_answer(
        &self,
        run: RunId,
        id: QuestionId,
        request: &WaitRequest,
    ) -> Result<QuestionReply, Error> {
        let path = ["questions", &id.to_string(), "wait"];
        self.post_run(run, &path, request).await
    }

    /// Withdraws the open requests of a run.
    #[boxed]
    pub async fn withdraw(&self, run: RunId) -> Result<WriteReply, Error> {
        self.call_run(run, &["withdraw"])?.fetch().await
    }

    /// Finishes a run.
    #[boxed]
    pub async fn finish(&self, run: RunId, result: &TurnResult) -> Result<WriteReply, Error> {
        self.post_run(run, &["finish"], result).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, Error> {
        self.call(path)?.json(body).fetch().await
    }

    async fn post_run<T: DeserializeOwned>(
        &self,
        run: RunId,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, Error> {
        self.call_run(run, path)?.json(body).fetch().await
    }

    pub(super) fn call_run(&self, run: RunId, path: &[&str]) -> Result<Call<'_>, Error> {
        let run = run.to_string();
        self.call(&[&["runs", &run], path].concat())
    }

    fn call(&self, path: &[&str]) -> Result<Call<'_>, Error> {
        let worker = HeaderValue::try_from(self.worker.as_str()).map_err(|_| Error::Invalid {
            what: format!("worker `{}`", self.worker.as_str().escape_debug()),
            reason: "accepted are visible characters of ASCII".to_owned(),
        })?;
        let call = self.client.post(&[&[PATH], path].concat());
        Ok(call
            .header(
                HeaderName::from_static(PROTOCOL_HEADER),
                HeaderValue::from(PROTOCOL),
            )
            .header(HeaderName::from_static(WORKER_HEADER), worker)
            .repeatable()
            // The protocol of runtimes has versions of its own, which the server checks.
            .with_any_version())
    }
}
