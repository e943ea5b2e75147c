//! The tools of the agents whose turns a runtime takes: each request brings one message of an agent.
//!
//! **Invariant:** the secret of the run comes with each request and goes no further than the proof of the run and the mask.

use std::{
    io::{self, Read},
    sync::Arc,
};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::Request,
    response::{IntoResponse, Response},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use model::{
    RunId,
    access::{secret::RunSecret, secret_mask::SecretMask},
    artifact::MAX_ARTIFACT_BYTES,
};
use runtime_api::tools::{
    self, FileFailure, FileReport, FirstLine, MAX_LINE_BYTES, ToolsReply, ToolsRequest,
};
use service::{NeededFile, RuntimeFiles, RuntimeToolCaller, SentFile};
use tokio::{fs::File, io::AsyncReadExt as _};
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};

use crate::{
    extract,
    problem::ApiError,
    runtime_caller::{PathRun, RuntimeCaller, SecretOfRun, parse},
    state::ToolMessage,
};

/// The size of the pieces of a content, in bytes.
const STREAM_BUFFER_BYTES: usize = 64 << 10;

/// Answers a message of an agent.
pub(super) async fn answer(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    SecretOfRun(secret): SecretOfRun,
    request: Request,
) -> Result<Response, ApiError> {
    extract::require_json(request.headers())?;
    let bytes = extract::read_body(request, MAX_LINE_BYTES).await?;
    let request: ToolsRequest = parse(&bytes)?;
    let sent = match &request.file {
        Some(FileReport::Failed { reason }) => Some(SentFile::Failed(file_error(reason.clone()))),
        // The content of a file comes to the other operation.
        Some(FileReport::Sent { .. }) | None => None,
    };
    let files = Arc::new(RuntimeFiles::new(sent));
    answer_message(&caller, run, &secret, request, &files).await
}

/// Answers a message of an agent with the content of a file, which follows the line of the request.
pub(super) async fn answer_with_file(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
    SecretOfRun(secret): SecretOfRun,
    request: Request,
) -> Result<Response, ApiError> {
    let mut body = request.into_body().into_data_stream();
    // 1. Read the line.
    let mut line = FirstLine::default();
    let rest = loop {
        let piece = match body.try_next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => return Err(ApiError::malformed("the body ends within its first line")),
            Err(error) => {
                let detail = format!("cannot read the body: {error}");
                return Err(ApiError::malformed(detail));
            }
        };
        let added = line.add(&piece);
        if let Some(begin) = added.map_err(|error| ApiError::malformed(error.to_string()))? {
            break piece.slice(begin..);
        }
    };
    let request: ToolsRequest = parse(line.bytes())?;
    let Some(FileReport::Sent { path, size }) = request.file.clone() else {
        let detail = "invalid `file`: accepted is one with the status `sent`";
        return Err(ApiError::malformed(detail).field("file"));
    };
    // 2. The tool reads the content while it arrives.
    let rest = stream::once(async move { Ok::<Bytes, io::Error>(rest) });
    let content = rest.chain(body.map_err(io::Error::other)).boxed();
    let content: Box<dyn Read + Send> = Box::new(SyncIoBridge::new(StreamReader::new(content)));
    let sent = SentFile::Content {
        path,
        size,
        content,
    };
    let files = Arc::new(RuntimeFiles::new(Some(sent)));
    let response = answer_message(&caller, run, &secret, request, &files).await;
    // 3. Read the content also if the tool did not. Otherwise the connection would break while the client still writes,
    // and the client would not see the response.
    if let Some(unread) = files.take_unread() {
        let drained = tokio::task::spawn_blocking(move || {
            io::copy(&mut unread.take(MAX_ARTIFACT_BYTES), &mut io::sink())
        });
        drained.await.ok();
    }
    response
}

async fn answer_message(
    caller: &RuntimeCaller,
    run: RunId,
    secret: &RunSecret,
    request: ToolsRequest,
    files: &Arc<RuntimeFiles>,
) -> Result<Response, ApiError> {
    let agent_tools = caller.agent_tools()?;
    let tool_caller = RuntimeToolCaller {
        run,
        secret: secret.hash(),
        stale_after: agent_tools.stale_after,
        zone: agent_tools.zone.clone(),
    };
    let tools = caller.runtime.tools(tool_caller, Arc::clone(files));
    let Some(tools) = tools.await? else {
        return Ok(Json(ToolsReply::Over).into_response());
    };
    let message = (agent_tools.answer)(ToolMessage {
        tools,
        mask: SecretMask::of(secret),
        calls_before: request.call.map_or(0, |call| call.saturating_sub(1)),
        message: request.message,
    })
    .await;
    Ok(match (files.take_needed(), message) {
        (None, message) => Json(ToolsReply::Answer { message }).into_response(),
        (Some(NeededFile::Read { path }), _) => Json(ToolsReply::SendFile { path }).into_response(),
        (Some(NeededFile::Write { path, content }), Some(message)) => {
            let reply = ToolsReply::WriteFile {
                path,
                size: content.size,
                sha256: content.sha256.to_string(),
                message,
            };
            // The size bounds the body, as the line says it.
            let file = File::from_std(content.file).take(content.size);
            framed(&reply, file)?
        }
        (Some(NeededFile::Write { .. }), None) => {
            return Err(ApiError::internal(
                "a tool has returned a file and no answer",
            ));
        }
    })
}

/// Returns a response whose content follows the line of the reply.
fn framed(
    reply: &ToolsReply,
    content: impl tokio::io::AsyncRead + Send + 'static,
) -> Result<Response, ApiError> {
    let line = tools::line(reply);
    let line = line.map_err(|error| ApiError::internal(error.to_string()))?;
    let line = stream::once(async move { Ok(Bytes::from(line)) });
    let content = ReaderStream::with_capacity(content, STREAM_BUFFER_BYTES);
    let mut response = Response::new(Body::from_stream(line.chain(content)));
    *response.status_mut() = StatusCode::OK;
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Returns the error that the same failure would be on this machine, so that the agent notices no difference.
fn file_error(failure: FileFailure) -> artifacts::Error {
    match failure {
        FileFailure::Path { path, problem } => artifacts::Error::Path { path, problem },
        FileFailure::TooLarge { size } => artifacts::Error::TooLarge { size },
        FileFailure::Changed { path } => artifacts::Error::Changed { path },
        FileFailure::Exists { path } => artifacts::Error::Exists { path },
        FileFailure::Unknown => artifacts::Error::Path {
            path: String::new(),
            problem: "the runtime cannot use it".into(),
        },
    }
}
