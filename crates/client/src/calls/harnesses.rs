//! Harnesses.

use http::Method;
use wire::{CheckRequest, Checked, Depth, Harness, HarnessConfigRequest, HarnessView, Page};

use super::Tagged;
use crate::{Client, Error};

impl Client {
    /// Lists the harnesses by name, each with what the server's machine has of its agent.
    pub async fn harnesses(&self) -> Result<Page<HarnessView>, Error> {
        self.get(&["harnesses"]).fetch().await
    }

    /// Shows a harness, by its name or its id.
    pub async fn harness(&self, harness: &str) -> Result<Tagged<Harness>, Error> {
        self.get(&["harnesses", harness]).fetch_tagged().await
    }

    /// Adds a harness, or replaces the one of that name: with a tag, the one that was seen alone.
    pub async fn put_harness(
        &self,
        name: &str,
        config: &HarnessConfigRequest,
        seen: Option<&str>,
    ) -> Result<Harness, Error> {
        let call = self.call(Method::PUT, &["harnesses", name]);
        call.json(config).seen(seen).fetch().await
    }

    /// Starts the agent of a harness and looks at it. This takes as long as the agent does.
    pub async fn check_harness(&self, harness: &str, depth: Depth) -> Result<Checked, Error> {
        let call = self.post(&["harnesses", harness, "check"]);
        call.json(&CheckRequest { depth }).patiently().fetch().await
    }
}
