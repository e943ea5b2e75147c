//! The MCP server of one connection.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use model::tools::{CALLS_PER_TURN, ToolAccess};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::{RequestContext, serve_server},
    transport::async_rw::AsyncRwTransport,
};
use service::RunTools;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    definition::definitions,
    reply::{self, ToolError},
    table,
};

/// The longest message of an agent, in bytes. It holds the longest input of any tool, escaped.
const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// Serves the tools of one turn over a stream, until the agent closes it. `calls` counts the calls of the turn, over all
/// of its connections.
pub async fn serve<R, W>(tools: RunTools, calls: Arc<AtomicU32>, reader: R, writer: W)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(reader, writer)
        .with_max_line_length(MAX_MESSAGE_BYTES);
    let handler = Handler { tools, calls };
    match serve_server(handler, transport).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::debug!(%error, "a connection to the tools ended");
            }
        }
        Err(error) => tracing::debug!(%error, "an agent did not begin with its tools"),
    }
}

struct Handler {
    tools: RunTools,
    calls: Arc<AtomicU32>,
}

impl Handler {
    /// Counts a call. Returns the number of calls that are left, or `None` if this one is too many.
    fn count_call(&self) -> Option<u32> {
        let before = self
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
        let access = match self.tools.access().await {
            // A turn that is over has no tools.
            Err(service::Error::Store(store::Error::RunOver { .. })) => ToolAccess::None,
            // An empty list would tell the agent for the whole turn that it has none.
            access => access.map_err(|error| {
                let ToolError { message, .. } = error.into();
                ErrorData::internal_error(message, None)
            })?,
        };
        Ok(ListToolsResult::with_all_items(definitions(access)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(calls_left) = self.count_call() else {
            return Ok(reply::result(Err(ToolError::too_many_calls()), 0).into());
        };
        let answer = async {
            let access = self.tools.access().await?;
            let Some(tool) = table::find(&request.name, access) else {
                let names: Vec<_> = table::offered(access).map(|tool| tool.name).collect();
                return Err(ToolError::unknown(
                    format!("there is no tool `{}`", request.name.escape_debug()),
                    format!("the tools are {}", names.join(", ")),
                ));
            };
            let input = request.arguments.unwrap_or_default();
            (tool.call)(&self.tools, access, input).await
        };
        Ok(reply::result(answer.await, calls_left).into())
    }
}
