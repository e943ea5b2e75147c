//! Queries for artifacts. Agents save them: see `tool_calls/artifacts.rs`.

use std::collections::BTreeSet;

use model::{
    ArtifactId, InstanceId, SessionId, TenantId,
    artifact::{Artifact, ArtifactContent, ContentHash},
};

use crate::{Error, Page, Scope, boxed, database::Row, store::Store};

impl Store {
    /// Reads one artifact.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the artifact does not exist in `scope`.
    #[boxed]
    pub async fn artifact(&self, scope: Scope, id: ArtifactId) -> Result<Artifact, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("artifacts/by_id"), params![scope.tenant(), id])
            .await?;
        read_artifact(&row.ok_or_else(|| Error::not_found("artifact", id))?)
    }

    /// Reads one version of an artifact of a session, by default the newest. Returns `None` if the session has no such
    /// version.
    #[boxed]
    pub async fn artifact_by_name(
        &self,
        scope: Scope,
        session: SessionId,
        name: &str,
        version: Option<i64>,
    ) -> Result<Option<Artifact>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = if let Some(version) = version {
            let params = params![scope.tenant(), session, name, version];
            tx.fetch_optional(sql!("artifacts/version"), params).await?
        } else {
            let params = params![scope.tenant(), session, name];
            tx.fetch_optional(sql!("artifacts/newest"), params).await?
        };
        row.as_ref().map(read_artifact).transpose()
    }

    /// Lists one page of the artifacts of a session whose names begin with `prefix`, each version, the newest first.
    #[boxed]
    pub async fn artifact_page(
        &self,
        tenant: TenantId,
        session: SessionId,
        prefix: &str,
        page: Page<ArtifactId>,
    ) -> Result<Vec<Artifact>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("artifacts/page"),
                params![tenant, page.before(), prefix, page.limit, session],
            )
            .await?;
        found.iter().map(read_artifact).collect()
    }

    /// Lists up to `limit` IDs of artifacts from `first` to `last`, both included, in order.
    #[boxed]
    pub async fn artifact_ids_between(
        &self,
        scope: Scope,
        first: ArtifactId,
        last: ArtifactId,
        limit: u32,
    ) -> Result<Vec<ArtifactId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("artifacts/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }

    /// Returns those of `hashes` to which an artifact of a tenant refers whose content is in the data folder of an
    /// instance.
    #[boxed]
    pub async fn referenced_contents(
        &self,
        tenant: TenantId,
        instance: InstanceId,
        hashes: &[ContentHash],
    ) -> Result<BTreeSet<ContentHash>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let rows = hashes.iter().map(|hash| params![hash.to_string()]);
        let found = tx
            .fetch_rows(
                sql!("artifacts/referenced"),
                rows.collect(),
                params![tenant, instance],
            )
            .await?;
        found.iter().map(|row| Ok(row.parse("sha256")?)).collect()
    }
}

/// Returns the artifact of a row.
pub(crate) fn read_artifact(row: &Row) -> Result<Artifact, Error> {
    let content = match row.optional("uri")? {
        Some(uri) => ArtifactContent::Uri(uri),
        None => ArtifactContent::Stored {
            sha256: row.parse("sha256")?,
            size: u64::try_from(row.get::<i64>("size_bytes")?)
                .map_err(|error| row.corrupt_value("size_bytes", error.into()))?,
            instance: row.get("instance_id")?,
        },
    };
    Ok(Artifact {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        session_id: row.get("session_id")?,
        run_id: row.get("run_id")?,
        name: row.get("name")?,
        version: row.get("version")?,
        media_type: row.get("media_type")?,
        content,
        created_at: row.get("created_at")?,
    })
}
