//! The folder that Matins creates for a session.
//!
//! Such a folder bears the session's ID as its name. A folder that the user chose is never created or removed.

use std::{io::ErrorKind, path::Path};

use model::precheck::PrecheckJob;

/// Creates the folder of a session, if Matins is to create it.
pub(crate) fn create_session_folder(cwd: &Path, session: &str) {
    if cwd.ends_with(session)
        && let Err(error) = std::fs::create_dir_all(cwd)
    {
        // Only a warning, because the start of the agent reports the missing folder with the run's ID.
        tracing::warn!(%error, "cannot create the folder `{}`", cwd.display());
    }
}

/// Removes the folder that was created for a deleted session. A folder in which the precheck has left files remains.
pub(crate) fn remove_session_folder(job: &PrecheckJob) {
    let folder = Path::new(&job.cwd);
    if folder.ends_with(job.session.to_string())
        && let Err(error) = std::fs::remove_dir(folder)
        && !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty
        )
    {
        tracing::warn!(%error, "cannot remove the folder `{}`", folder.display());
    }
}
