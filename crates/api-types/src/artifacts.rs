//! Artifacts: files and addresses that agents hand in.

use model::{
    ArtifactId, InstanceId, RunId, SessionId, TenantId, Timestamp,
    artifact::{self, ArtifactContent},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One version of a file or of an address that an agent handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    /// The ID of the version.
    pub id: ArtifactId,
    /// The tenant that owns the artifact.
    pub tenant_id: TenantId,
    /// The session whose agent handed it in.
    pub session_id: SessionId,
    /// The run of the turn in which the agent handed it in.
    pub run_id: RunId,
    /// The name within the session, chosen by the agent. It is a label and never a path.
    pub name: String,
    /// The number of the version among those of the name, from 1.
    #[schema(minimum = 1)]
    pub version: i64,
    /// The media type, as the agent named it.
    pub media_type: String,
    /// The address. The server has recorded it and never fetches it. Null if the artifact has a content.
    pub uri: Option<String>,
    /// The SHA-256 of the content, in hexadecimal digits. Null if the artifact is an address.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: Option<String>,
    /// The length of the content, in bytes. Null if the artifact is an address.
    #[schema(minimum = 0)]
    pub size: Option<u64>,
    /// The instance whose data folder holds the content, so that its server alone serves it. Null if the artifact is an
    /// address.
    pub instance_id: Option<InstanceId>,
    /// The instant at which the agent handed it in.
    pub created_at: Timestamp,
}

impl From<artifact::Artifact> for Artifact {
    fn from(artifact: artifact::Artifact) -> Self {
        let artifact::Artifact {
            id,
            tenant_id,
            session_id,
            run_id,
            name,
            version,
            media_type,
            content,
            created_at,
        } = artifact;
        let (uri, sha256, size, instance_id) = match content {
            ArtifactContent::Uri(uri) => (Some(uri), None, None, None),
            ArtifactContent::Stored {
                sha256,
                size,
                instance,
            } => (None, Some(sha256.to_string()), Some(size), Some(instance)),
        };
        Self {
            id,
            tenant_id,
            session_id,
            run_id,
            name,
            version,
            media_type,
            uri,
            sha256,
            size,
            instance_id,
            created_at,
        }
    }
}
