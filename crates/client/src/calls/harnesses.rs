//! Operations on harnesses.

use api_types::{CheckRequest, Checked, Depth, Harness, HarnessConfigRequest, HarnessView, Page};
use http::Method;

use super::Tagged;
use crate::{Client, Error};

impl Client {
    /// Lists the harnesses by name, each with the state of its agent on the server's machine.
    pub async fn harnesses(&self) -> Result<Page<HarnessView>, Error> {
        self.get(&["harnesses"]).fetch().await
    }

    /// Returns a harness, by its name or its ID.
    pub async fn harness(&self, harness: &str) -> Result<Tagged<Harness>, Error> {
        self.get(&["harnesses", harness]).fetch_tagged().await
    }

    /// Creates or replaces the harness of a name. With an entity tag, the server refuses if the harness has changed
    /// since.
    pub async fn put_harness(
        &self,
        name: &str,
        config: &HarnessConfigRequest,
        seen: Option<&str>,
    ) -> Result<Harness, Error> {
        let call = self.call(Method::PUT, &["harnesses", name]);
        call.json(config).seen(seen).fetch().await
    }

    /// Starts the agent of a harness and checks it. The call has no time limit, because it waits for the agent.
    pub async fn check_harness(&self, harness: &str, depth: Depth) -> Result<Checked, Error> {
        let call = self.post(&["harnesses", harness, "check"]);
        call.json(&CheckRequest { depth }).patiently().fetch().await
    }
}
