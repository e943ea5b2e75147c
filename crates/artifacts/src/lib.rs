//! The contents of artifacts: where the data folder keeps them, and the files that agents name.
//!
//! - [`ContentFolder`] keeps contents under their hash, verifies them before it returns them, and removes those to which
//!   no artifact refers.
//! - [`WorkingDirectory`] opens the files that an agent names, beneath the working directory of its session.
//!
//! Read `content_folder.rs` first.
//!
//! **Invariants:** a path of an agent is followed one name after the other, each relative to the directory before it and
//! never through a symbolic link. So it never leads out of the working directory, even if the agent changes directories
//! meanwhile. A content that does not have its hash is never returned. All functions block; callers keep them off the
//! threads of asynchronous code.

mod content_folder;
mod contents;
mod error;
mod hashing;
mod sweep;
mod working_directory;

pub use content_folder::ContentFolder;
pub use contents::{StoredContent, VerifiedContent};
pub use error::Error;
pub use sweep::Sweep;
pub use working_directory::{SourceFile, WorkingDirectory};
