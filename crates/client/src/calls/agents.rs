//! Operations on agents.

use api_types::{
    Agent, AgentConfigRequest, AgentView, CheckDepth, CheckRequest, CheckResponse, Page,
};
use http::Method;

use super::Tagged;
use crate::{Client, Error, boxed};

impl Client {
    /// Lists the agents by name, each with its installation on the server's machine.
    #[boxed]
    pub async fn agents(&self) -> Result<Page<AgentView>, Error> {
        self.get(&["agents"]).fetch().await
    }

    /// Returns an agent, by its name or its ID.
    #[boxed]
    pub async fn agent(&self, agent: &str) -> Result<Tagged<Agent>, Error> {
        self.get(&["agents", agent]).fetch_tagged().await
    }

    /// Creates or replaces the agent of a name. With an entity tag, the server refuses if the agent has changed
    /// since.
    #[boxed]
    pub async fn put_agent(
        &self,
        name: &str,
        config: &AgentConfigRequest,
        seen: Option<&str>,
    ) -> Result<Agent, Error> {
        let call = self.call(Method::PUT, &["agents", name]);
        call.json(config).if_match(seen).fetch().await
    }

    /// Removes an agent, by its name or its ID.
    #[boxed]
    pub async fn remove_agent(&self, agent: &str) -> Result<Agent, Error> {
        self.delete(&["agents", agent]).fetch().await
    }

    /// Starts the process of an agent and checks it. The call has no time limit, because it waits for the agent.
    #[boxed]
    pub async fn check_agent(
        &self,
        agent: &str,
        depth: CheckDepth,
    ) -> Result<CheckResponse, Error> {
        let call = self.post(&["agents", agent, "check"]);
        call.json(&CheckRequest { depth })
            .without_timeout()
            .fetch()
            .await
    }
}
