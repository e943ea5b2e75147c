//! One message of an agent, from its line to its answer: the server answers it, and the runtime reads and writes the files
//! that the answer needs.
//!
//! **Invariant:** a message that is sent again has its effect once, because the tools are idempotent by their natural keys.
//! It has the same number among the calls of the turn.

use std::{sync::atomic::Ordering, time::Duration};

use client::{Error, RuntimeClient, ToolsAnswer};
use model::access::secret::RunSecret;
use runtime_api::tools::{FileFailure, FileReport, ToolsReply, ToolsRequest};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use turn::GrantedRun;

use crate::{
    tool_files::{self, SendingFile, WriteError},
    tool_messages::{AgentRequest, ToolFailure},
};

/// The repetition of a message while the server is away.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retries {
    /// The time for which a message is sent again.
    pub(crate) timeout: Duration,
    /// The pause before a message is sent again.
    pub(crate) pause: Duration,
}

impl Retries {
    /// The repetition of a runtime. Agents wait for a tool for a minute as a rule.
    pub(crate) const DEFAULT: Self = Self {
        timeout: Duration::from_secs(30),
        pause: Duration::from_millis(500),
    };
}

/// The time limit of each try, without files.
const TRY_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit of each try that sends or receives a file.
const FILE_TIMEOUT: Duration = Duration::from_mins(10);
/// The highest number of requests to the server for one message: without the file, with it, and with a failure of it.
const MAX_STEPS: usize = 4;

/// The tools of one run, as one of its connections uses them.
pub(crate) struct ForwardedTools {
    pub(crate) client: RuntimeClient,
    pub(crate) run: GrantedRun,
    pub(crate) secret: RunSecret,
    pub(crate) retries: Retries,
}

/// The file of a message, as the next request to the server brings it.
enum FileStep {
    /// The server has not asked for a file.
    None,
    /// The server has asked for the file at this path.
    Send(String),
    /// The file cannot be read or written.
    Failed(FileFailure),
}

/// The reason for which a request to the server brought no reply.
enum StepError {
    Client(Error),
    File(FileFailure),
}

impl ForwardedTools {
    /// Returns the answer to a message. Returns `None` if it needs none.
    pub(crate) async fn answer(&self, request: AgentRequest) -> Option<Value> {
        let call = request.is_call.then(|| self.count_call());
        let answered = self.exchange(&request, call).await;
        answered.unwrap_or_else(|failure| Some(request.failed(&failure, call)))
    }

    /// Counts a call. Returns its number, from 1.
    fn count_call(&self) -> u32 {
        let before = self.run.calls.fetch_add(1, Ordering::Relaxed);
        before.saturating_add(1)
    }

    async fn exchange(
        &self,
        request: &AgentRequest,
        call: Option<u32>,
    ) -> Result<Option<Value>, ToolFailure> {
        let retry_until = Instant::now() + self.retries.timeout;
        let mut file = FileStep::None;
        for _ in 0..MAX_STEPS {
            let body = ToolsRequest {
                message: request.message.clone(),
                call,
                file: None,
            };
            let ToolsAnswer { reply, content } =
                match self.send_with_retries(body, &file, retry_until).await {
                    Ok(answer) => answer,
                    Err(StepError::File(failure)) => {
                        file = FileStep::Failed(failure);
                        continue;
                    }
                    Err(StepError::Client(error)) => return Err(self.tool_failure(&error)),
                };
            match reply {
                ToolsReply::Answer { message } => return Ok(message),
                ToolsReply::Over => return Err(ToolFailure::over()),
                ToolsReply::SendFile { path } => file = FileStep::Send(path),
                ToolsReply::WriteFile {
                    path,
                    size,
                    sha256,
                    message,
                } => {
                    let sha256 = sha256
                        .parse()
                        .map_err(|_| ToolFailure::refused("it names no valid SHA-256"))?;
                    let directory = self.run.directory.clone();
                    let writing = tool_files::write(directory, path, (sha256, size), content);
                    match timeout(FILE_TIMEOUT, writing).await {
                        Ok(Ok(())) => return Ok(Some(message)),
                        Ok(Err(WriteError::File(failure))) => file = FileStep::Failed(failure),
                        // The next request asks for the content again.
                        Ok(Err(WriteError::NotReceived(error))) => {
                            self.log_warning("receive an artifact for", &error);
                        }
                        Err(error) => {
                            self.log_warning("receive an artifact for", &error);
                            return Err(ToolFailure::server_away());
                        }
                    }
                }
                ToolsReply::Unknown => {
                    let reason = "it is newer than the runtime, which needs an upgrade";
                    return Err(ToolFailure::refused(reason));
                }
            }
        }
        Err(ToolFailure::server_away())
    }

    /// Sends a message until the server replies, or until `retry_until`.
    async fn send_with_retries(
        &self,
        mut body: ToolsRequest,
        file: &FileStep,
        retry_until: Instant,
    ) -> Result<ToolsAnswer, StepError> {
        loop {
            let sent = match file {
                FileStep::None => self.send(&body).await,
                FileStep::Send(path) => self.send_file(&mut body, path).await,
                FileStep::Failed(failure) => {
                    let reason = failure.clone();
                    body.file = Some(FileReport::Failed { reason });
                    self.send(&body).await
                }
            };
            match sent {
                Err(StepError::Client(error))
                    if is_worth_retry(&error)
                        && Instant::now() + self.retries.pause < retry_until =>
                {
                    self.log_warning("reach the tools of", &error);
                    sleep(self.retries.pause).await;
                }
                sent => return sent,
            }
        }
    }

    async fn send(&self, body: &ToolsRequest) -> Result<ToolsAnswer, StepError> {
        let (run, secret) = (self.run.run, &self.secret);
        let sent = self
            .client
            .send_tool_message(run, secret, body, TRY_TIMEOUT);
        sent.await.map_err(StepError::Client)
    }

    async fn send_file(
        &self,
        body: &mut ToolsRequest,
        path: &str,
    ) -> Result<ToolsAnswer, StepError> {
        let opened = SendingFile::open(self.run.directory.clone(), path.to_owned()).await;
        let SendingFile {
            size,
            content,
            failed,
        } = opened.map_err(StepError::File)?;
        body.file = Some(FileReport::Sent {
            path: path.to_owned(),
            size,
        });
        let (run, secret) = (self.run.run, &self.secret);
        let sent = self
            .client
            .send_tool_file(run, secret, body, content, FILE_TIMEOUT)
            .await;
        // A file that changes breaks the request off, which looks like a lost connection.
        match failed.take() {
            Some(failure) => Err(StepError::File(failure)),
            None => sent.map_err(StepError::Client),
        }
    }

    /// Returns the failure that the agent sees. The error itself names hosts and addresses, which are for operators.
    fn tool_failure(&self, error: &Error) -> ToolFailure {
        self.log_warning("reach the tools of", error);
        if is_unknown_operation(error) {
            let reason = "it is older than the runtime, and needs an upgrade";
            return ToolFailure::refused(reason);
        }
        match error {
            Error::Problem(problem) if problem.status < 500 => {
                ToolFailure::refused(&problem.detail)
            }
            _ => ToolFailure::server_away(),
        }
    }

    fn log_warning(&self, what: &str, error: &(dyn std::error::Error + 'static)) {
        let run = self.run.run;
        tracing::warn!(%run, error, "cannot {what} {run}");
    }
}

/// `true` if the server does not know the operation, because its version is an earlier one.
fn is_unknown_operation(error: &Error) -> bool {
    let status = match error {
        Error::Problem(problem) => problem.status,
        Error::Malformed { status, .. } => *status,
        _ => return false,
    };
    matches!(status, 404 | 405)
}

/// `true` if the same message may be answered later: the server is away, or a program between answers in its place.
fn is_worth_retry(error: &Error) -> bool {
    let is_other_program = matches!(error, Error::Malformed { .. });
    !is_unknown_operation(error) && (is_other_program || error.is_transient())
}
