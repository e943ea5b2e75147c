//! The contents of artifacts that a process keeps.

use artifacts::ContentFolder;
use model::InstanceId;

/// The contents of artifacts that this process can read and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFiles {
    /// The folder of the contents, in the data folder of the instance.
    pub folder: ContentFolder,
    /// The instance.
    pub instance: InstanceId,
}
