//! Errors of opening a data folder, starting a server and taking a single turn.

use std::{io, path::PathBuf};

use config::ConfigProblem;
use model::InvalidId;

/// An error of this crate. Its message is complete without a prefix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data folder cannot be created or opened.
    #[error("cannot use the data folder {}", path.display())]
    DataFolder {
        /// The path of the folder as the caller named it.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file or a folder below the data folder cannot be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// The attempted action, which follows "cannot", such as "use the file".
        action: &'static str,
        /// The path of the file or the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file `instance.id` does not hold a valid ID.
    #[error("invalid instance ID in the file {}", path.display())]
    Instance {
        /// The path of the file.
        path: PathBuf,
        /// The error of parsing its text.
        source: InvalidId,
    },
    /// Another process holds the serve lock of the folder.
    #[error("the data folder {} is in use by process {process}", path.display())]
    FolderLocked {
        /// The data folder.
        path: PathBuf,
        /// The ID of that process, or `?` if it has not written one yet.
        process: String,
    },
    /// Another server serves a data folder with the same instance ID, such as a copy of this folder.
    #[error("{worker} serves a data folder with the same instance ID")]
    DuplicateInstance {
        /// The worker ID of the other server, or "another server" if it is unknown.
        worker: String,
    },
    /// The schema of the database requires a newer version of this program.
    #[error(
        "the schema of the database requires a program that supports version {needed_schema}, but this program \
         supports version {supported_schema}"
    )]
    ProgramOutdated {
        /// The lowest schema version that a program must know to use this database.
        needed_schema: i64,
        /// The schema version that this program knows.
        supported_schema: i64,
    },
    /// The path of this executable cannot be determined.
    #[error("cannot find the path of this program")]
    ExecutablePath(#[source] io::Error),
    /// A setting has an invalid value.
    #[error(transparent)]
    Config(#[from] ConfigProblem),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// An operation of the store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The service refused an operation.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// The daemon or a turn failed.
    #[error(transparent)]
    Daemon(daemon::Error),
    /// A request of this process to its own API routes failed.
    #[error(transparent)]
    Client(#[from] client::Error),
}

impl From<daemon::Error> for Error {
    fn from(error: daemon::Error) -> Self {
        Self::Daemon(error)
    }
}

impl Error {
    /// Returns the next step for the user. Returns `None` if there is no advice for the error.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::DataFolder { .. } => "name another one with `--data`",
            Self::Instance { .. } => {
                "restore it from a backup: sessions are pinned to the instance it names"
            }
            Self::FolderLocked { .. } => {
                "stop that process first, or name another folder with `--data`"
            }
            Self::DuplicateInstance { .. } => {
                "run only one of the two servers, because the other one would start agents without their memory; \
                 to make a copied folder an instance of its own, remove its file instance.id"
            }
            Self::ProgramOutdated { .. } => "run a newer version of Matins",
            Self::Open(error) => error.hint()?,
            Self::Store(error) => error.hint()?,
            Self::Service(error) => return error.hint(),
            Self::File { .. }
            | Self::ExecutablePath(_)
            | Self::Config(_)
            | Self::Daemon(_)
            | Self::Client(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// Formats an error and its sources, separated by colons.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
