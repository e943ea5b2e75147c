//! The errors of this crate.

use std::{
    io,
    path::{Path, PathBuf},
};

use model::artifact::{ContentHash, MAX_ARTIFACT_BYTES};

/// The reason for which a content was not stored or returned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path of an agent cannot be used.
    #[error("invalid path `{}`: {problem}", .path.escape_debug())]
    Path {
        /// The path, as the agent named it.
        path: String,
        /// The problem and the accepted paths.
        problem: String,
    },
    /// The content is too large.
    #[error("the content has {size} bytes or more, accepted are up to {MAX_ARTIFACT_BYTES}")]
    TooLarge {
        /// The lowest size that the content can have.
        size: u64,
    },
    /// The file changed while it was read.
    #[error("the file `{}` changed while it was read", .path.escape_debug())]
    Changed {
        /// The path, as the agent named it.
        path: String,
    },
    /// Another file exists at the path.
    #[error("`{}` exists with other content", .path.escape_debug())]
    Exists {
        /// The path, as the agent named it.
        path: String,
    },
    /// The data folder does not hold the content, or holds other bytes under its hash.
    #[error("the stored content {sha256} is {problem}")]
    Damaged {
        /// The hash.
        sha256: ContentHash,
        /// The problem: `missing` or `damaged`.
        problem: &'static str,
    },
    /// The data folder cannot be used.
    #[error("cannot {action} `{}`", .path.display())]
    Folder {
        /// The action.
        action: &'static str,
        /// The path in the data folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Returns the error for a path in the data folder.
pub(crate) fn folder_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Folder {
        action,
        path: path.to_owned(),
        source,
    }
}
