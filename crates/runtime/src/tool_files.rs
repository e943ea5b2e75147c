//! The files of an agent that its tools name, beneath the working directory of the turn.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use artifacts::{Error, SourceFile, VerifiedContent, WorkingDirectory};
use client::{Body, BoxError};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use model::artifact::ContentHash;
use runtime_api::tools::FileFailure;
use tokio::task::spawn_blocking;
use tokio_util::io::{StreamReader, SyncIoBridge};

/// The size of the pieces in which a file is sent, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// A file that is being sent.
pub(crate) struct SendingFile {
    /// The number of bytes.
    pub(crate) size: u64,
    /// The content. It breaks off if the file changes.
    pub(crate) content: Body,
    /// The reason for which the content broke off, once it has been sent.
    pub(crate) failed: SendFailure,
}

/// The reason for which a file was not sent to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendFailure(Arc<Mutex<Option<FileFailure>>>);

impl SendFailure {
    pub(crate) fn take(&self) -> Option<FileFailure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, failure: FileFailure) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }
}

impl SendingFile {
    /// Opens a file to send.
    ///
    /// # Errors
    ///
    /// Returns an error as [`WorkingDirectory::open_file`].
    pub(crate) async fn open(directory: PathBuf, path: String) -> Result<Self, FileFailure> {
        let given = path.clone();
        let opened =
            spawn_blocking(move || WorkingDirectory::open(&directory)?.open_file(&path)).await;
        let source = opened
            .map_err(|error| path_failure(&given, &error))?
            .map_err(|error| file_failure(&given, error))?;
        let failed = SendFailure::default();
        Ok(Self {
            size: source.size(),
            content: pieces(source, failed.clone()),
            failed,
        })
    }
}

/// Reads a file in pieces, off the threads of asynchronous code.
fn pieces(source: SourceFile, failed: SendFailure) -> Body {
    let read_next = move |mut source: SourceFile| {
        let (failed, path) = (failed.clone(), source.path().to_owned());
        async move {
            let read = spawn_blocking(move || {
                let read = source.read_next(PIECE_BYTES);
                read.map(|read| read.map(|read| (read.into(), source)))
            });
            let read = match read.await {
                Ok(read) => read.map_err(|error| file_failure(&path, error)),
                Err(error) => Err(path_failure(&path, &error)),
            };
            read.map_err(|failure| {
                failed.set(failure);
                BoxError::from("the file changed or cannot be read")
            })
        }
    };
    stream::try_unfold(source, read_next).boxed()
}

/// The reason for which a file was not written.
pub(crate) enum WriteError {
    /// The content did not arrive.
    NotReceived(io::Error),
    /// The file cannot be written.
    File(FileFailure),
}

/// Receives a content and writes it into a new file.
pub(crate) async fn write(
    directory: PathBuf,
    path: String,
    (sha256, size): (ContentHash, u64),
    content: Body,
) -> Result<(), WriteError> {
    let content = SyncIoBridge::new(StreamReader::new(content.map_err(io::Error::other)));
    let written = spawn_blocking(move || {
        let content = VerifiedContent::receive(sha256, size, content);
        let content = content.map_err(WriteError::NotReceived)?;
        let written =
            WorkingDirectory::open(&directory).and_then(|it| it.write_new(&path, content));
        written.map_err(|error| WriteError::File(file_failure(&path, error)))
    });
    let written = written.await.map_err(io::Error::other);
    written.map_err(WriteError::NotReceived).flatten()
}

/// Returns the failure that the server tells the agent of.
fn file_failure(path: &str, error: Error) -> FileFailure {
    match error {
        Error::Path { path, problem } => FileFailure::Path { path, problem },
        Error::TooLarge { size } => FileFailure::TooLarge { size },
        Error::Changed { path } => FileFailure::Changed { path },
        Error::Exists { path } => FileFailure::Exists { path },
        error @ (Error::Damaged { .. } | Error::Folder { .. }) => path_failure(path, &error),
    }
}

fn path_failure(path: &str, problem: &impl ToString) -> FileFailure {
    FileFailure::Path {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}
