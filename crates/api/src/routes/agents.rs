//! Configured agents: the command lines that start agents.

use std::collections::BTreeMap;

use api_types::{Agent, AgentConfigRequest, AgentView, CheckRequest, CheckResponse, Page};
use axum::Json as Answer;
use model::{
    access::Permission,
    agent::{self, AgentConfig},
};

use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, OptionalJson, Path},
    problem::ApiError,
};

/// The description of the path parameter that names an agent.
const AGENT_PARAM_DESCRIPTION: &str = "The name or the ID of the agent";
/// The text in place of the values of environment variables, for callers that may not change agents.
const HIDDEN_VALUE: &str = "(hidden)";

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_agents))
        .routes(routes!(show_agent, put_agent, remove_agent))
        .routes(routes!(check_agent))
}

/// List agents
///
/// Returns all agents on one page, in the order of their names. For each, `installation` shows whether it is
/// installed and signed in on the machine of the server. Callers without the permission `agents:write` do not see
/// the values of environment variables.
#[utoipa::path(
    get,
    path = "/agents",
    tag = "agents",
    responses((status = OK, description = "All agents on one page", body = Page<AgentView>)),
    security(("token" = ["agents:read"]), ("browser" = []))
)]
async fn list_agents(caller: Caller) -> Result<Answer<Page<AgentView>>, ApiError> {
    let service = caller.authorize(Permission::AgentsRead)?;
    let environment = &caller.api.shared.environment;
    let views = service.agents().await?.into_iter().map(|agent| {
        let installation = service::presence(&agent.config, environment);
        AgentView {
            agent: redact_env(&caller, agent),
            installation,
        }
    });
    Ok(Answer(Page::whole(views.collect())))
}

/// Show an agent
///
/// Returns one agent with its configuration and with the capabilities that it reported when it was last
/// started. Callers without the permission `agents:write` do not see the values of environment variables.
#[utoipa::path(
    get,
    path = "/agents/{agent}",
    tag = "agents",
    params(("agent" = String, Path, description = AGENT_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The agent",
        body = Agent,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["agents:read"]), ("browser" = []))
)]
async fn show_agent(
    caller: Caller,
    Path([agent]): Path<1>,
) -> Result<(ETag, Answer<Agent>), ApiError> {
    let service = caller.authorize(Permission::AgentsRead)?;
    let found = service.agent(&agent).await?;
    Ok((
        etag::header(&editable(&found)),
        Answer(redact_env(&caller, found)),
    ))
}

/// Create or replace an agent
///
/// Stores the configuration of an agent: a command line that starts a program, which speaks the Agent Client Protocol.
/// The server forgets the capabilities of the previous program and does not know those of the new one until it starts
/// that program. Returns 412 if `If-Match` is set and the agent has changed or does not exist.
#[utoipa::path(
    put,
    path = "/agents/{agent}",
    tag = "agents",
    params(
        ("agent" = String, Path, description = "The name of the agent"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = AgentConfigRequest,
    responses((
        status = OK,
        description = "The agent",
        body = Agent,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["agents:write"]), ("browser" = []))
)]
async fn put_agent(
    caller: Caller,
    Path([name]): Path<1>,
    seen: IfMatch,
    request: Json<AgentConfigRequest>,
) -> Result<(ETag, Answer<Agent>), ApiError> {
    let service = caller.authorize(Permission::AgentsWrite)?;
    let config = AgentConfig::from(request.value);
    let put = match service.agent(&name).await {
        // The store compares the row with the configuration that was checked, so that an edit between this check and
        // the write is not lost.
        Ok(before) if seen.is_given() => {
            seen.check("the agent", &editable(&before))?;
            service.edit_agent(&before, &config).await?
        }
        Ok(_) => service.add_agent(&name, &config).await?,
        Err(error) if error.kind() == service::ErrorKind::NotFound => {
            seen.check_absent("the agent")?;
            service.add_agent(&name, &config).await?
        }
        Err(error) => return Err(error.into()),
    };
    Ok((etag::header(&editable(&put)), Answer(put.into())))
}

/// Remove an agent
///
/// Removes an agent. Returns 409 if automations or open sessions use it: `automations` and `sessions` name up to 20 of
/// each. Closed sessions keep their transcripts. An agent of the catalogue stays removed until a request creates it
/// again.
#[utoipa::path(
    delete,
    path = "/agents/{agent}",
    tag = "agents",
    params(("agent" = String, Path, description = AGENT_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The agent as it was", body = Agent)),
    security(("token" = ["agents:write"]), ("browser" = []))
)]
async fn remove_agent(caller: Caller, Path([agent]): Path<1>) -> Result<Answer<Agent>, ApiError> {
    let service = caller.authorize(Permission::AgentsWrite)?;
    Ok(Answer(service.remove_agent(&agent).await?.into()))
}

/// Check an agent
///
/// Starts the agent, stores and returns its capabilities, and stops it. The request takes as long as the agent, at
/// most ten minutes. Returns 502 if the agent does not start.
#[utoipa::path(
    post,
    path = "/agents/{agent}/check",
    tag = "agents",
    params(("agent" = String, Path, description = AGENT_PARAM_DESCRIPTION)),
    request_body(content = Option<CheckRequest>, description = "The depth of the check"),
    responses((status = OK, description = "The capabilities and the findings", body = CheckResponse)),
    security(("token" = ["agents:write"]), ("browser" = []))
)]
async fn check_agent(
    caller: Caller,
    Path([agent]): Path<1>,
    OptionalJson(request): OptionalJson<CheckRequest>,
) -> Result<Answer<CheckResponse>, ApiError> {
    let service = caller.authorize(Permission::AgentsWrite)?;
    Ok(Answer(service.check_agent(&agent, request.depth).await?))
}

/// Returns the part of an agent that a request can change.
fn editable(agent: &agent::Agent) -> AgentConfigRequest {
    agent.config.clone().into()
}

/// Returns an agent as the caller may see it. The values of environment variables may be secrets, so that they are
/// replaced unless the caller may change agents.
fn redact_env(caller: &Caller, agent: agent::Agent) -> Agent {
    let mut agent = Agent::from(agent);
    if caller.authorize(Permission::AgentsWrite).is_err() {
        let names = std::mem::take(&mut agent.config.env).into_keys();
        let hidden = names.map(|name| (name, HIDDEN_VALUE.to_owned()));
        agent.config.env = hidden.collect::<BTreeMap<_, _>>();
    }
    agent
}
