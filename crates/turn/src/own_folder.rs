//! The folder of a session that has one of its own.

use std::{io::ErrorKind, path::Path};

use model::precheck::Question;

/// Makes the folder of a session that has one of its own. A folder that was given must be there.
pub(crate) fn make_own_folder(cwd: &Path, session: &str) {
    if cwd.ends_with(session)
        && let Err(error) = std::fs::create_dir_all(cwd)
    {
        // Starting the agent says the same, with the run's name.
        tracing::warn!(%error, "failed to make the folder {}", cwd.display());
    }
}

/// Removes the folder that was made for a session which is gone. One in which the precheck has left
/// something stays.
pub(crate) fn remove_own_folder(question: &Question) {
    let folder = Path::new(&question.cwd);
    if folder.ends_with(question.session.to_string())
        && let Err(error) = std::fs::remove_dir(folder)
        && !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty
        )
    {
        tracing::warn!(%error, "failed to remove the folder {}", folder.display());
    }
}
