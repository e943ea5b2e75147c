//! Artifacts: listing, reading and downloading. Agents save them by a tool: see `run_tools/artifacts.rs`.

use api_types::Page;
use artifacts::VerifiedContent;
use model::{
    ArtifactId, InstanceId, TenantId,
    artifact::{Artifact, ArtifactContent},
};

use crate::{Error, Service, artifact_files::ArtifactFiles, boxed};

/// The filter and the page of a list of artifacts.
#[derive(Debug, Clone, Default)]
pub struct ArtifactQuery {
    /// The session: its key, its ID or an ID prefix.
    pub session: String,
    /// The beginning of the names. `None` accepts all names.
    pub name: Option<String>,
    /// The last artifact of the previous page.
    pub after: Option<ArtifactId>,
    /// The highest number of artifacts on the page.
    pub limit: u32,
}

impl Service {
    /// Returns the same service, which reads and writes contents of artifacts.
    #[must_use]
    pub fn with_artifact_files(mut self, files: Option<ArtifactFiles>) -> Self {
        self.artifact_files = files;
        self
    }

    /// Lists the artifacts of a session, each version, the newest first.
    #[boxed]
    pub async fn artifacts(&self, query: &ArtifactQuery) -> Result<Page<Artifact>, Error> {
        let session = self.find_session(&query.session).await?.id;
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let prefix = query.name.as_deref().unwrap_or("");
        let found = self
            .store
            .artifact_page(self.tenant, session, prefix, page)
            .await?;
        Ok(Page::of(found, query.limit, |artifact| {
            artifact.id.to_string()
        }))
    }

    /// Returns one artifact, by its ID or an ID prefix.
    #[boxed]
    pub async fn artifact(&self, given: &str) -> Result<Artifact, Error> {
        let id = self.find_artifact(given).await?;
        Ok(self.store.artifact(self.scope(), id).await?)
    }

    /// Returns one artifact and its verified content, by its ID or an ID prefix.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContent`] if the artifact is an address, [`Error::ContentOnOtherInstance`] if another instance has the
    /// content, and [`Error::Content`] if the content is missing or damaged.
    #[boxed]
    pub async fn artifact_content(
        &self,
        given: &str,
    ) -> Result<(Artifact, VerifiedContent), Error> {
        let artifact = self.artifact(given).await?;
        let content = self.open_content(&artifact).await?;
        Ok((artifact, content))
    }

    /// Opens and verifies the content of an artifact.
    pub(crate) async fn open_content(&self, artifact: &Artifact) -> Result<VerifiedContent, Error> {
        let (sha256, size, instance) = match &artifact.content {
            ArtifactContent::Stored {
                sha256,
                size,
                instance,
            } => (*sha256, *size, *instance),
            ArtifactContent::Uri(uri) => {
                return Err(Error::NoContent {
                    artifact: artifact.name.clone(),
                    uri: uri.clone(),
                });
            }
        };
        let files = self.artifact_files.as_ref();
        let Some(files) = files.filter(|files| files.instance == instance) else {
            return Err(self.on_other_instance(artifact, instance).await?);
        };
        let (folder, tenant): (_, TenantId) = (files.folder.clone(), artifact.tenant_id);
        block(move || folder.open(tenant, sha256, size)).await
    }

    /// Returns the error for a content that another instance has.
    async fn on_other_instance(
        &self,
        artifact: &Artifact,
        instance: InstanceId,
    ) -> Result<Error, Error> {
        let named = self.store.served_instance(self.tenant, instance).await?;
        Ok(Error::ContentOnOtherInstance {
            artifact: artifact.name.clone(),
            // A removed instance has no name any more.
            instance: named.map_or_else(|| instance.to_string(), |found| found.name),
        })
    }
}

/// Runs a function that reads or writes files, off the threads of asynchronous code.
pub(crate) async fn block<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, artifacts::Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| {
        Err(artifacts::Error::Folder {
            action: "finish the work in",
            path: "artifacts".into(),
            source: std::io::Error::other(error),
        })
    });
    Ok(done?)
}
