//! Contents that are stored, and contents that are verified.

use std::{
    fs::File,
    io::{self, Read, Seek as _},
};

use model::artifact::ContentHash;

use crate::hashing::{CopyError, copy_and_hash};

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

impl VerifiedContent {
    /// Copies a content that arrives from another machine into a file without a name, and checks its size and its hash.
    ///
    /// # Errors
    ///
    /// Returns an error if it breaks off, if it is another content, or if the system's temporary folder has no room.
    pub fn receive(sha256: ContentHash, size: u64, content: impl Read) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        // One more byte tells whether the content is too long.
        let copied = copy_and_hash(&mut content.take(size.saturating_add(1)), &mut file);
        let copied = copied.map_err(|error| match error {
            CopyError::Read(error) | CopyError::Write(error) => error,
        })?;
        if copied != (sha256, size) {
            let problem = "the content that arrived is another one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        file.rewind()?;
        Ok(Self { file, sha256, size })
    }
}
