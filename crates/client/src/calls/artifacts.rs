//! Operations on artifacts.

use api_types::{Artifact, Page};

use super::PageParams;
use crate::{Client, Error, boxed, transport::Body};

impl Client {
    /// Lists the artifacts of a session whose names begin with `name`, the newest first.
    #[boxed]
    pub async fn artifacts(
        &self,
        session: &str,
        name: Option<&str>,
        page: &PageParams,
    ) -> Result<Page<Artifact>, Error> {
        self.get(&["sessions", session, "artifacts"])
            .query_param("name", name)
            .page(page)
            .fetch()
            .await
    }

    /// Returns an artifact, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn artifact(&self, artifact: &str) -> Result<Artifact, Error> {
        self.get(&["artifacts", artifact]).fetch().await
    }

    /// Streams the content of an artifact, by its ID or a prefix of its ID. If the connection breaks, the last item of the
    /// body is an error.
    #[boxed]
    pub async fn artifact_content(&self, artifact: &str) -> Result<Body, Error> {
        let call = self.get(&["artifacts", artifact, "content"]);
        Ok(call.stream().await?.into_body())
    }
}
