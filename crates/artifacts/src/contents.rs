//! Contents that are stored, and contents that are verified.

use std::fs::File;

use model::artifact::ContentHash;

/// A content in its place. Keep the value until the row that refers to the content is committed: no sweep removes the
/// content before that.
#[derive(Debug)]
pub struct StoredContent {
    /// The hash of the content.
    pub sha256: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
    pub(crate) _lock: File,
}

/// A content whose hash has been checked.
#[derive(Debug)]
pub struct VerifiedContent {
    /// The content, to be read from its beginning.
    pub file: File,
    /// The hash of the content.
    pub sha256: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
}
