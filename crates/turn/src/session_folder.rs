//! The folder that Matins creates for a session.
//!
//! A directory that a person gave the session is never created or removed.

use std::{fs, io::ErrorKind, path::PathBuf};

use model::{WorkingDirectory, limits};
use tokio::{task::spawn_blocking, time::timeout};

/// Returns `true` if a directory that a person gave a session is on this machine.
pub async fn is_directory_here(directory: &str) -> bool {
    let directory = PathBuf::from(directory);
    // The check may block for long if a file server does not answer.
    let check = spawn_blocking(move || directory.is_dir());
    matches!(
        timeout(limits::DIRECTORY_CHECK_TIMEOUT, check).await,
        Ok(Ok(true))
    )
}

/// Creates the folder of a session, if Matins is to create it.
pub(crate) async fn create_session_folder(directory: &WorkingDirectory) {
    if !directory.is_own() {
        return;
    }
    let path = directory.path().to_owned();
    // Creating it may block for long if a file server does not answer.
    let creation = spawn_blocking(move || fs::create_dir_all(path));
    // Only warnings, because the start of the agent reports the missing folder with the run's ID.
    match timeout(limits::DIRECTORY_CHECK_TIMEOUT, creation).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => {
            tracing::warn!(%error, "cannot create the folder `{}`", directory.path());
        }
        Ok(Err(_)) | Err(_) => tracing::warn!("the folder `{}` does not answer", directory.path()),
    }
}

/// Removes the folder that was created for a deleted session. A folder in which the precheck has left files remains.
pub(crate) fn remove_session_folder(directory: &WorkingDirectory) {
    if directory.is_own()
        && let Err(error) = fs::remove_dir(directory.path())
        && !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty
        )
    {
        tracing::warn!(%error, "cannot remove the folder `{}`", directory.path());
    }
}
