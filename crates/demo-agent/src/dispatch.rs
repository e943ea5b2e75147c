//! The agent's side of the protocol: dispatches the requests of the client.

use std::sync::Arc;

use agent_client_protocol::{
    Agent, ByteStreams, Error, JsonRpcResponse, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{Responder, schema},
};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use super::{
    agent::{DemoAgent, RequestError, notify},
    session::Memory,
};

/// Serves one client on standard input and output until the client closes the connection.
pub(super) async fn serve(agent: DemoAgent) -> Result<(), Error> {
    let agent = Arc::new(agent);
    let [new, load, resume, list, close, prompt, cancel] =
        std::array::from_fn(|_| Arc::clone(&agent));
    Agent
        .v1()
        .name("matins-demo-agent")
        .on_receive_request(
            async move |_: schema::InitializeRequest, responder, _| {
                responder.respond(capabilities())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::NewSessionRequest, responder, _| {
                let created = new.create(request.cwd, request.mcp_servers);
                respond(responder, created.map(schema::NewSessionResponse::new))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::LoadSessionRequest, responder, client| {
                let servers = request.mcp_servers;
                let loaded = load.restore(&request.session_id, &request.cwd, servers);
                for update in loaded.iter().flat_map(Memory::replay) {
                    notify(&client, &request.session_id, update)?;
                }
                respond(
                    responder,
                    loaded.map(|_| schema::LoadSessionResponse::new()),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::ResumeSessionRequest, responder, _| {
                let servers = request.mcp_servers;
                let resumed = resume.restore(&request.session_id, &request.cwd, servers);
                respond(
                    responder,
                    resumed.map(|_| schema::ResumeSessionResponse::new()),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::ListSessionsRequest, responder, _| {
                let listed = list.list(request.cwd.as_deref());
                respond(responder, listed.map(schema::ListSessionsResponse::new))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::CloseSessionRequest, responder, _| {
                let closed = close.close(&request.session_id);
                respond(
                    responder,
                    closed.map(|()| schema::CloseSessionResponse::new()),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::PromptRequest, responder, client| {
                let turn = match prompt.begin_turn(&request) {
                    Ok(turn) => turn,
                    Err(refusal) => return responder.respond_with_error(refusal.into()),
                };
                // Run the turn in a task of its own, so that the dispatch loop can read a cancellation meanwhile.
                let to = client.clone();
                client.spawn(async move { responder.respond_with_result(turn.run(&to).await) })
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: schema::CancelNotification, _| {
                cancel.cancel(&request.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(ByteStreams::new(
            tokio::io::stdout().compat_write(),
            tokio::io::stdin().compat(),
        ))
        .await
}

fn respond<T: JsonRpcResponse>(
    responder: Responder<T>,
    outcome: Result<T, RequestError>,
) -> Result<(), Error> {
    responder.respond_with_result(outcome.map_err(Error::from))
}

/// Returns the capabilities of the agent. It always offers protocol version 1, whatever version the client requests.
fn capabilities() -> schema::InitializeResponse {
    let sessions = schema::SessionCapabilities::new()
        .list(schema::SessionListCapabilities::new())
        .resume(schema::SessionResumeCapabilities::new())
        .close(schema::SessionCloseCapabilities::new());
    schema::InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(
            schema::AgentCapabilities::new()
                .load_session(true)
                .session_capabilities(sessions),
        )
        .agent_info(schema::Implementation::new(
            "matins-demo-agent",
            env!("CARGO_PKG_VERSION"),
        ))
}
