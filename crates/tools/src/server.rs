//! The MCP server of one connection.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use model::{access::secret_mask::SecretMask, tools::CALLS_PER_TURN};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientJsonRpcMessage, ClientRequest,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        ServerJsonRpcMessage,
    },
    service::{RequestContext, serve_directly_with_ct, serve_server_with_ct},
    transport::{OneshotTransport, async_rw::AsyncRwTransport},
};
use serde_json::Value;
use service::{RunTools, ToolOffer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{
    cron,
    definition::definitions,
    early_notifications::WithoutEarlyNotifications,
    reply::{self, ToolError},
    table, tasks,
};

/// The longest message of an agent, in bytes. It holds the longest input of any tool, escaped.
const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// The tools of one turn, as one of its connections serves them.
pub struct TurnTools {
    /// The tools.
    pub tools: RunTools,
    /// The counter of the calls of the turn, over all of its connections.
    pub calls: Arc<AtomicU32>,
    /// The mask for the secret of the run, so that no tool stores it.
    pub mask: SecretMask,
}

/// Serves the tools of a turn over a stream, until the agent closes it or `ended` is cancelled. Closes the stream if
/// `initialize_timeout` completes before the agent has initialized the protocol.
pub async fn serve<R, W>(
    tools: TurnTools,
    (reader, writer): (R, W),
    ended: CancellationToken,
    initialize_timeout: impl Future<Output = ()>,
) where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let handler = Handler(tools);
    serve_handler(handler, (reader, writer), ended, initialize_timeout).await;
}

async fn serve_handler<R, W>(
    handler: impl ServerHandler,
    (reader, writer): (R, W),
    ended: CancellationToken,
    initialize_timeout: impl Future<Output = ()>,
) where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(reader, writer)
        .with_max_line_length(MAX_MESSAGE_BYTES);
    let transport = WithoutEarlyNotifications::new(transport);
    let initialized = tokio::select! {
        biased;
        initialized = serve_server_with_ct(handler, transport, ended) => initialized,
        () = initialize_timeout => {
            tracing::debug!("an agent did not initialize its tools in time");
            return;
        }
    };
    match initialized {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::debug!(%error, "a connection to the tools ended");
            }
        }
        Err(error) => tracing::debug!(%error, "an agent did not begin with its tools"),
    }
}

/// Answers one message of an agent, as [`serve`] does for the messages of a stream. Returns `None` if the message needs no
/// answer. The agent may have initialized the protocol in an earlier message.
pub async fn answer(tools: TurnTools, mut message: Value) -> Option<Value> {
    // Already here, because the SDK logs whole messages at the level `debug`.
    tools.mask.value(&mut message);
    answer_message(Handler(tools), message).await
}

async fn answer_message(handler: impl ServerHandler, message: Value) -> Option<Value> {
    let request = match serde_json::from_value(message) {
        Ok(ClientJsonRpcMessage::Request(request)) => request,
        // A notification changes nothing here, and this server sends no requests that a response could be for.
        Ok(_) => return None,
        Err(error) => {
            tracing::debug!(%error, "an agent sent an invalid message to its tools");
            let error = ErrorData::invalid_request("Invalid request", None);
            return to_json(&ServerJsonRpcMessage::error(error, None));
        }
    };
    let begins = matches!(request.request, ClientRequest::InitializeRequest(_));
    let message = ClientJsonRpcMessage::Request(request);
    let (transport, mut answers) = OneshotTransport::<RoleServer>::new(message);
    // The end of this function ends the service, also if the caller drops its future.
    let ended = CancellationToken::new();
    let _guard = ended.clone().drop_guard();
    // Keep the service until it has answered.
    let _running = if begins {
        match serve_server_with_ct(handler, transport, ended).await {
            Ok(running) => Some(running),
            Err(error) => {
                tracing::debug!(%error, "an agent did not begin with its tools");
                None
            }
        }
    } else {
        Some(serve_directly_with_ct(handler, transport, None, ended))
    };
    while let Some(answer) = answers.recv().await {
        if matches!(
            answer,
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
        ) {
            return to_json(&answer);
        }
    }
    None
}

fn to_json(message: &ServerJsonRpcMessage) -> Option<Value> {
    let json = serde_json::to_value(message);
    json.inspect_err(|error| tracing::error!(%error, "cannot write an answer to an agent"))
        .ok()
}

struct Handler(TurnTools);

impl Handler {
    /// Counts a call. Returns the number of calls that are left, or `None` if this one is too many.
    fn count_call(&self) -> Option<u32> {
        let before = self
            .0
            .calls
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                (calls < CALLS_PER_TURN).then_some(calls + 1)
            });
        before.ok().map(|before| CALLS_PER_TURN - before - 1)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("matins", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Matins runs this session. Its tools act on this session alone, and only during this turn.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offer = match self.0.tools.offer().await {
            // A turn that is over has no tools.
            Err(service::Error::Store(store::Error::RunOver { .. })) => ToolOffer::NONE,
            // An empty list would tell the agent for the whole turn that it has none.
            offer => offer.map_err(|error| {
                let ToolError { message, .. } = error.into();
                ErrorData::internal_error(message, None)
            })?,
        };
        match self.0.tools.note_listed().await {
            Ok(()) | Err(service::Error::Store(store::Error::RunOver { .. })) => {}
            // Without the note, a task without a report would fail because its agent had no tools.
            Err(error) => {
                let ToolError { message, .. } = error.into();
                return Err(ErrorData::internal_error(message, None));
            }
        }
        let definitions = definitions(offer);
        Ok(ListToolsResult::with_all_items(definitions))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let counted = self.count_call();
        let calls_left = counted.unwrap_or(0);
        let TurnTools { tools, mask, .. } = &self.0;
        let offer = match tools.offer().await {
            Ok(offer) => offer,
            Err(error) => return Ok(reply::result(Err(error.into()), None, calls_left).into()),
        };
        let answer = async {
            // A report passes always, because the work of the whole turn would be lost without it.
            if counted.is_none() && !tasks::is_report(&request.name, offer) {
                return Err(ToolError::too_many_calls(offer.task));
            }
            let Some(tool) = table::find(&request.name, offer) else {
                return Err(unknown_tool(&request.name, offer));
            };
            let mut input = Value::Object(request.arguments.unwrap_or_default());
            mask.value(&mut input);
            (tool.call)(tools, offer, reply::object(input)).await
        };
        Ok(reply::result(answer.await, offer.unread, calls_left).into())
    }
}

fn unknown_tool(name: &str, offer: ToolOffer) -> ToolError {
    let refused = tasks::refused_tool(name, offer).or_else(|| cron::refused_tool(name, offer));
    if let Some(refused) = refused {
        return refused;
    }
    let names: Vec<_> = table::offered(offer).map(|tool| tool.name).collect();
    ToolError::unknown(
        format!("there is no tool `{}`", name.escape_debug()),
        format!("the tools are {}", names.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

    use super::*;

    struct NoTools;

    impl ServerHandler for NoTools {}

    #[tokio::test]
    async fn single_messages_are_answered_as_those_of_a_stream() {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": "two", "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "x"}}),
            json!({"jsonrpc": "2.0", "id": 5, "method": "no/such"}),
            json!([1, 2]),
        ];
        let (server, mut agent) = duplex(1 << 16);
        let serving = serve_handler(NoTools, split(server), CancellationToken::new(), pending());
        let serving = tokio::spawn(serving);
        let (mut expected, mut answered) = (Vec::new(), Vec::new());
        let (reader, mut writer) = split(&mut agent);
        let mut lines = BufReader::new(reader).lines();
        for message in messages {
            let line = format!("{message}\n");
            writer.write_all(line.as_bytes()).await.unwrap();
            let answer = answer_message(NoTools, message).await;
            if let Some(answer) = answer {
                let line = lines.next_line().await.unwrap().unwrap();
                expected.push(serde_json::from_str::<Value>(&line).unwrap());
                answered.push(answer);
            }
        }
        assert_eq!(answered, expected);
        assert_eq!(answered.len(), 6);
        drop((lines, writer));
        drop(agent);
        serving.await.unwrap();
    }

    const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

    #[tokio::test]
    async fn notification_before_first_request_leaves_connection_open() {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        });
        let request = |id: u64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}});
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        let messages = [
            request(1, "server/discover"),
            changed.clone(),
            request(2, "tools/list"),
            changed,
            request(3, "tools/list"),
        ];
        let (server, mut agent) = duplex(1 << 16);
        let serving = serve_handler(NoTools, split(server), CancellationToken::new(), pending());
        let serving = tokio::spawn(serving);
        let (reader, mut writer) = split(&mut agent);
        let mut lines = BufReader::new(reader).lines();
        for message in messages {
            let line = format!("{message}\n");
            writer.write_all(line.as_bytes()).await.unwrap();
            let Some(id) = message.get("id") else {
                continue;
            };
            let line = lines.next_line().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(&answer["id"], id, "{answer}");
        }
        drop((lines, writer));
        drop(agent);
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn silent_connection_is_closed_after_timeout() {
        let (server, agent) = duplex(4096);
        serve_handler(NoTools, split(server), CancellationToken::new(), ready(())).await;
        let mut lines = BufReader::new(agent).lines();
        assert_eq!(lines.next_line().await.unwrap(), None);
    }

    #[tokio::test]
    async fn initialized_connection_is_closed_once_its_run_has_ended() {
        let (server, mut agent) = duplex(4096);
        let ended = CancellationToken::new();
        let serving = serve_handler(NoTools, split(server), ended.clone(), pending());
        let serving = tokio::spawn(serving);
        agent.write_all(INITIALIZE).await.unwrap();
        let mut lines = BufReader::new(agent).lines();
        let reply = lines.next_line().await.unwrap().unwrap();
        assert!(reply.contains("serverInfo"), "{reply}");
        ended.cancel();
        serving.await.unwrap();
        assert_eq!(lines.next_line().await.unwrap(), None);
    }
}
