//! The folder that Matins creates for a session.
//!
//! A directory that a person gave the session is never created or removed.

use std::{
    fs,
    io::{self, ErrorKind},
    path::PathBuf,
    time::Duration,
};

use model::{WorkingDirectory, limits, outcome::FailureKind};
use tokio::{task::spawn_blocking, time::timeout};

use crate::failure_kind::ClassifyFailure;

/// The folder of a session did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("the folder `{path}` does not answer")]
pub(crate) struct FolderTimeout {
    path: String,
}

impl ClassifyFailure for FolderTimeout {
    /// Returns the kind of a missing working directory.
    fn kind(&self) -> FailureKind {
        FailureKind::Start
    }
}

/// Returns `true` if a directory that a person gave a session is on this machine.
pub async fn is_directory_here(directory: &str) -> bool {
    let directory = PathBuf::from(directory);
    let check = run_blocking(limits::DIRECTORY_CHECK_TIMEOUT, move || directory.is_dir());
    check.await == Some(true)
}

/// Creates the folder of a session, if Matins is to create it.
///
/// The start of a process in the folder still blocks its thread if the folder stops answering after this check.
///
/// # Errors
///
/// Returns an error if the folder does not answer in time. The caller must then not touch the folder, because that
/// would block its thread.
pub(crate) async fn create_session_folder(
    directory: &WorkingDirectory,
) -> Result<(), FolderTimeout> {
    if !directory.is_own() {
        return Ok(());
    }
    let path = directory.path().to_owned();
    let create = move || fs::create_dir_all(path);
    create_within(limits::DIRECTORY_CHECK_TIMEOUT, directory.path(), create).await
}

async fn create_within(
    limit: Duration,
    path: &str,
    create: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), FolderTimeout> {
    match run_blocking(limit, create).await {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => {
            // Only a warning, because the start of the agent reports the missing folder with the run's ID.
            tracing::warn!(%error, "cannot create the folder `{path}`");
            Ok(())
        }
        None => Err(FolderTimeout {
            path: path.to_owned(),
        }),
    }
}

/// Removes the folder that was created for a deleted session. A folder in which the precheck has left files remains.
pub(crate) async fn remove_session_folder(directory: &WorkingDirectory) {
    if !directory.is_own() {
        return;
    }
    let path = directory.path().to_owned();
    let remove = move || fs::remove_dir(path);
    match run_blocking(limits::DIRECTORY_CHECK_TIMEOUT, remove).await {
        Some(Err(error))
            if !matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty
            ) =>
        {
            tracing::warn!(%error, "cannot remove the folder `{}`", directory.path());
        }
        Some(_) => {}
        None => tracing::warn!("the folder `{}` does not answer", directory.path()),
    }
}

/// Runs a task on a blocking thread, because a file server that does not answer may block it for long. Returns `None`
/// if the task does not end in time.
async fn run_blocking<T: Send + 'static>(
    limit: Duration,
    task: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    timeout(limit, spawn_blocking(task)).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn session_folder_without_answer_fails_the_start() {
        let (release, blocked) = mpsc::channel::<()>();
        let create = move || {
            blocked.recv().ok();
            Ok(())
        };
        let created = create_within(Duration::ZERO, "/data/sessions/x", create).await;
        drop(release);

        let failure = created.unwrap_err().to_run_failure(false);
        assert_eq!(failure.kind, FailureKind::Start);
        assert_eq!(
            failure.message,
            "the folder `/data/sessions/x` does not answer"
        );
    }

    #[tokio::test]
    async fn session_folder_that_cannot_be_created_is_left_to_the_start() {
        let create = || Err(ErrorKind::PermissionDenied.into());
        let created =
            create_within(limits::DIRECTORY_CHECK_TIMEOUT, "/data/sessions/x", create).await;
        assert!(created.is_ok());
    }
}
