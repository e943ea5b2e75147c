//! What keeps a process from being put together.

use std::{io, path::PathBuf};

use config::Problem;
use model::InvalidId;

/// Tells why a process cannot be put together, in the words that follow "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data folder cannot be made or used.
    #[error("use the data folder {}", path.display())]
    DataFolder {
        /// The folder as it was named.
        path: PathBuf,
        /// Why the system refuses it.
        source: io::Error,
    },
    /// A file or a folder below the data folder cannot be used.
    #[error("{action} {}", path.display())]
    File {
        /// What was being done, such as "use the file".
        action: &'static str,
        /// The file or the folder.
        path: PathBuf,
        /// Why the system refuses it.
        source: io::Error,
    },
    /// The file that names the instance does not hold an ID.
    #[error("read the file {}", path.display())]
    Instance {
        /// The file.
        path: PathBuf,
        /// Why its text is no ID.
        source: InvalidId,
    },
    /// Another process holds the serve lock of the folder.
    #[error("serve {}: the process {process} serves it already", path.display())]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The ID of that process, or `?` if it has not written one.
        process: String,
    },
    /// Another server serves a data folder with the same identity.
    #[error("serve: {by} serves a data folder with the same identity")]
    SameIdentity {
        /// The other worker.
        by: String,
    },
    /// The schema is of a version with which this program must not go on.
    #[error(
        "serve: the database's schema needs a program that knows version {needed}, this one knows {known}"
    )]
    Outdated {
        /// The lowest version that a program must know.
        needed: i64,
        /// The version that this program knows.
        known: i64,
    },
    /// The path of this program is unknown.
    #[error("find the path of this program")]
    Program(#[source] io::Error),
    /// A setting cannot be taken.
    #[error(transparent)]
    Config(#[from] Problem),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A rule of the service is not met.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// The loops or a turn fail.
    #[error(transparent)]
    Daemon(daemon::Error),
    /// A request of this process to its own routes fails.
    #[error(transparent)]
    Client(#[from] client::Error),
}

impl From<daemon::Error> for Error {
    fn from(error: daemon::Error) -> Self {
        Self::Daemon(error)
    }
}

impl Error {
    /// Returns what a person can do about the error.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::DataFolder { .. } => "name another one with --data",
            Self::Instance { .. } => {
                "restore it from a backup: sessions are pinned to the instance it names"
            }
            Self::Locked { .. } => "stop that one first, or name another folder with --data",
            Self::SameIdentity { .. } => {
                "two with one identity would start agents without their memory: serve one of them; a copy becomes \
                 an instance of its own without its file instance.id"
            }
            Self::Outdated { .. } => "run the newer version of Matins",
            Self::Open(error) => error.hint()?,
            Self::Store(error) => error.hint()?,
            Self::Service(error) => return error.hint(),
            Self::File { .. }
            | Self::Program(_)
            | Self::Config(_)
            | Self::Daemon(_)
            | Self::Client(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// Formats an error with its sources, each after a colon.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
