//! The connection to an agent. Only this module uses the protocol's SDK, because the SDK changes often.
//!
//! The module uses the SDK's raw builder and not `v1()`, because the module must check the protocol's version itself:
//! the error of the SDK's own check cannot be told from an error of the agent. For the same reason, requests are sent
//! untyped and their replies are parsed here. The SDK calls handlers in its dispatch loop, where a wait would block
//! every other message. Handlers therefore only start tasks.

pub(crate) mod convert;
pub(crate) mod error;
pub(crate) mod router;

use std::{io, path::Path, sync::Arc};

use agent_client_protocol::{
    Agent, Builder, Client, ConnectionTo, JsonRpcNotification, JsonRpcRequest, Lines, Responder,
    is_connection_terminated, is_incoming_transport_closed, on_receive_request,
    schema::ProtocolVersion, v1::schema,
};
use futures::{sink, stream};
use model::{AcpSessionId, outcome::StopReason};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    sync::{Semaphore, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use self::{
    error::{AgentError, CallError},
    router::Router,
};
use crate::{
    Capabilities, McpServer, OpenSession, Setting, limits::MAX_ERROR_TEXT_BYTES, message::is_reply,
};

/// The version of the protocol that is offered, and that the agent must confirm.
pub const PROTOCOL_VERSION: u64 = 1;

/// The result of `initialize`.
pub(crate) enum InitializeOutcome {
    /// The agent speaks the offered version.
    Supported(Capabilities),
    /// The agent speaks another version, which is here as the agent wrote it.
    OtherVersion(Value),
}

/// One page of the agent's sessions.
pub(crate) struct Page {
    pub(crate) sessions: Vec<AcpSessionId>,
    pub(crate) next: Option<String>,
}

/// A connection to an agent. Dropping it ends the connection and closes the agent's input.
pub(crate) struct Connection {
    peer: ConnectionTo<Agent>,
    stop: CancellationToken,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Connects the agent's input with the messages from its output.
    pub(crate) async fn new(
        stdin: pipe::Sender,
        messages: mpsc::Receiver<String>,
        requests: Arc<Semaphore>,
        router: Arc<Router>,
    ) -> Result<Self, CallError> {
        let stop = CancellationToken::new();
        let (connected, connection) = oneshot::channel();
        let transport = Lines::new(write_lines(stdin, requests), read_messages(messages));
        let questions = Arc::clone(&router);
        let client = Builder::new(Client)
            .name("matins")
            .on_receive_request(
                async move |request: schema::RequestPermissionRequest,
                            responder: Responder<schema::RequestPermissionResponse>,
                            connection: ConnectionTo<Agent>| {
                    answer_permission_request(&router, request, responder, &connection)
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: schema::CreateElicitationRequest,
                            responder: Responder<schema::CreateElicitationResponse>,
                            connection: ConnectionTo<Agent>| {
                    answer_elicitation(&questions, request, responder, &connection)
                },
                on_receive_request!(),
            );
        let stopped = stop.clone();
        let driver = tokio::spawn(async move {
            let driven = client.connect_with(transport, async move |connection| {
                connected.send(connection).ok();
                stopped.cancelled().await;
                Ok(())
            });
            if let Err(error) = driven.await {
                tracing::debug!(
                    code = i32::from(error.code),
                    "the connection to an agent failed"
                );
            }
        });
        match connection.await {
            Ok(to) => Ok(Self {
                peer: to,
                stop,
                driver,
            }),
            Err(_) => Err(CallError::Closed),
        }
    }

    /// Writes the queued messages for at most `limit`, and closes the agent's input.
    pub(crate) async fn close_input(mut self, limit: std::time::Duration) {
        self.stop.cancel();
        timeout(limit, &mut self.driver).await.ok();
    }

    pub(crate) async fn initialize(&self) -> Result<InitializeOutcome, CallError> {
        let client = schema::Implementation::new("matins", env!("CARGO_PKG_VERSION"));
        let request = schema::InitializeRequest::new(ProtocolVersion::V1)
            .client_info(client)
            .client_capabilities(convert::client_capabilities());
        let answer = self.call(request).await?;
        match answer.get("protocolVersion").unwrap_or(&Value::Null) {
            version if *version == PROTOCOL_VERSION => Ok(InitializeOutcome::Supported(
                convert::capabilities(parse_reply(answer)?),
            )),
            other => Ok(InitializeOutcome::OtherVersion(other.clone())),
        }
    }

    pub(crate) async fn authenticate(&self, method: &str) -> Result<(), CallError> {
        self.call(schema::AuthenticateRequest::new(method.to_owned()))
            .await
            .map(drop)
    }

    pub(crate) async fn new_session(
        &self,
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<OpenSession, CallError> {
        let request = schema::NewSessionRequest::new(cwd).mcp_servers(convert::servers(servers));
        let created: schema::NewSessionResponse = parse_reply(self.call(request).await?)?;
        let id = AcpSessionId::new(created.session_id.0.as_ref());
        Ok(convert::open_session(
            id,
            created.modes,
            created.config_options,
        ))
    }

    pub(crate) async fn resume(
        &self,
        id: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<OpenSession, CallError> {
        let request = schema::ResumeSessionRequest::new(session_id(id), cwd)
            .mcp_servers(convert::servers(servers));
        let answer = self.call(request).await?;
        check_same_session(&answer, id)?;
        let resumed: schema::ResumeSessionResponse = parse_reply(answer)?;
        Ok(convert::open_session(
            id.clone(),
            resumed.modes,
            resumed.config_options,
        ))
    }

    pub(crate) async fn load(
        &self,
        id: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<OpenSession, CallError> {
        let request = schema::LoadSessionRequest::new(session_id(id), cwd)
            .mcp_servers(convert::servers(servers));
        let answer = self.call(request).await?;
        check_same_session(&answer, id)?;
        let loaded: schema::LoadSessionResponse = parse_reply(answer)?;
        Ok(convert::open_session(
            id.clone(),
            loaded.modes,
            loaded.config_options,
        ))
    }

    pub(crate) async fn list(&self, cursor: Option<String>) -> Result<Page, CallError> {
        let request = schema::ListSessionsRequest::new().cursor(cursor);
        let page: schema::ListSessionsResponse = parse_reply(self.call(request).await?)?;
        let ids = page.sessions.iter();
        Ok(Page {
            sessions: ids
                .map(|listed| AcpSessionId::new(listed.session_id.0.as_ref()))
                .collect(),
            next: page.next_cursor,
        })
    }

    pub(crate) async fn close_session(&self, id: &AcpSessionId) -> Result<(), CallError> {
        self.call(schema::CloseSessionRequest::new(session_id(id)))
            .await
            .map(drop)
    }

    pub(crate) async fn delete_session(&self, id: &AcpSessionId) -> Result<(), CallError> {
        self.call(schema::DeleteSessionRequest::new(session_id(id)))
            .await
            .map(drop)
    }

    pub(crate) async fn set_mode(&self, id: &AcpSessionId, mode: &str) -> Result<(), CallError> {
        let request = schema::SetSessionModeRequest::new(session_id(id), mode.to_owned());
        self.call(request).await.map(drop)
    }

    /// Changes one setting. Returns all settings as they are afterwards.
    pub(crate) async fn set_setting(
        &self,
        id: &AcpSessionId,
        setting: &Setting,
        value: &str,
    ) -> Result<Vec<Setting>, CallError> {
        let value = convert::setting_value(setting, value);
        let request =
            schema::SetSessionConfigOptionRequest::new(session_id(id), setting.id.clone(), value);
        let changed: schema::SetSessionConfigOptionResponse =
            parse_reply(self.call(request).await?)?;
        Ok(convert::settings(changed.config_options))
    }

    pub(crate) async fn prompt(
        &self,
        id: &AcpSessionId,
        texts: &[&str],
    ) -> Result<StopReason, CallError> {
        let blocks = texts.iter().map(|text| (*text).to_owned().into());
        let request = schema::PromptRequest::new(session_id(id), blocks.collect());
        let answered: schema::PromptResponse = parse_reply(self.call(request).await?)?;
        convert::stop_reason(answered.stop_reason)
    }

    /// Asks the agent to cancel its prompt.
    pub(crate) fn cancel(&self, id: &AcpSessionId) -> Result<(), CallError> {
        self.notify(schema::CancelNotification::new(session_id(id)))
    }

    fn notify(&self, notification: impl JsonRpcNotification) -> Result<(), CallError> {
        self.peer
            .send_notification(notification)
            .map_err(call_error)
    }

    async fn call(&self, request: impl JsonRpcRequest) -> Result<Value, CallError> {
        let untyped = request.to_untyped_message().map_err(call_error)?;
        let answer = self
            .peer
            .send_request(untyped)
            .block_task()
            .await
            .map_err(call_error)?;
        // `null` is a legal reply to several requests, but the types of the replies are objects.
        Ok(if answer.is_null() { json!({}) } else { answer })
    }
}

fn session_id(id: &AcpSessionId) -> schema::SessionId {
    schema::SessionId::from(id.as_str().to_owned())
}

/// Rejects the reply to a restore that names another session. The protocol has no such field. An agent that fills it
/// in with another ID has created a session without the memory of the requested one.
fn check_same_session(answer: &Value, id: &AcpSessionId) -> Result<(), CallError> {
    match answer.get("sessionId") {
        Some(other) if other.as_str() != Some(id.as_str()) => {
            let other = truncate(other.to_string());
            let wrong = format!("the agent restored session {other} instead of `{id}`");
            Err(CallError::Malformed(wrong))
        }
        _ => Ok(()),
    }
}

fn parse_reply<T: DeserializeOwned>(answer: Value) -> Result<T, CallError> {
    serde_json::from_value(answer)
        .map_err(|error| CallError::Malformed(truncate(error.to_string())))
}

/// Cuts an agent's text in an error to at most [`MAX_ERROR_TEXT_BYTES`].
fn truncate(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_TEXT_BYTES));
    text
}

fn call_error(error: agent_client_protocol::Error) -> CallError {
    if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
        return CallError::Closed;
    }
    CallError::ErrorReply(AgentError {
        code: error.code.into(),
        message: truncate(match error.data.as_ref().and_then(Value::as_str) {
            // Some agents explain the error only in `data`, and send "Internal error" as the message.
            Some(more) if !more.is_empty() => format!("{}: {more}", error.message),
            _ => error.message,
        }),
        // Data longer than the limit explains nothing and would only fill the record.
        data: error
            .data
            .filter(|data| data.to_string().len() <= MAX_ERROR_TEXT_BYTES),
    })
}

/// Starts the task that answers one permission request.
fn answer_permission_request(
    router: &Arc<Router>,
    request: schema::RequestPermissionRequest,
    responder: Responder<schema::RequestPermissionResponse>,
    connection: &ConnectionTo<Agent>,
) -> Result<(), agent_client_protocol::Error> {
    let router = Arc::clone(router);
    let turn = router.current_turn();
    // Take the token before the task starts, so that `Router::end` waits for this request from now on.
    let token = turn.as_ref().map(|turn| turn.track_request());
    connection.spawn(async move {
        let answer = |option: Option<&str>| {
            let outcome = convert::outcome(option);
            responder
                .respond(schema::RequestPermissionResponse::new(outcome))
                .ok();
        };
        router
            .decide(turn.as_deref(), convert::permission(request), answer)
            .await;
        // The request counts as reported only now.
        drop(token);
        Ok(())
    })
}

/// Starts the task that answers one question.
fn answer_elicitation(
    router: &Arc<Router>,
    request: schema::CreateElicitationRequest,
    responder: Responder<schema::CreateElicitationResponse>,
    connection: &ConnectionTo<Agent>,
) -> Result<(), agent_client_protocol::Error> {
    let router = Arc::clone(router);
    let turn = router.current_turn();
    // Take the token before the task starts, as for a permission request.
    let token = turn.as_ref().map(|turn| turn.track_request());
    connection.spawn(async move {
        let session = turn.as_ref().map(|turn| turn.session());
        let asked = session.and_then(|session| convert::elicitation(request, session));
        let reply = router.elicit(turn.as_deref(), asked).await;
        let action = convert::elicitation_action(reply);
        responder
            .respond(schema::CreateElicitationResponse::new(action))
            .ok();
        drop(token);
        Ok(())
    })
}

fn read_messages(
    mut messages: mpsc::Receiver<String>,
) -> impl futures::Stream<Item = io::Result<String>> + Send + 'static {
    stream::poll_fn(move |context| messages.poll_recv(context).map(|message| message.map(Ok)))
}

fn write_lines(
    stdin: pipe::Sender,
    requests: Arc<Semaphore>,
) -> impl futures::Sink<String, Error = io::Error> + Send + 'static {
    sink::unfold(
        (stdin, requests),
        async |(mut stdin, requests), mut line: String| {
            let is_answer = is_reply(&line);
            line.push('\n');
            stdin.write_all(line.as_bytes()).await?;
            if is_answer {
                requests.add_permits(1);
            }
            Ok((stdin, requests))
        },
    )
}
