//! An open trigger folder that has passed the checks of its owner and its permissions.

use std::{
    fs::File,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
    process::geteuid,
};

use crate::error::{FolderError, FolderProblem};

/// The flags by which a folder is opened. The last name of the path must not be a link, because its owner could move it
/// between two operations.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::RDONLY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// The permissions by which users other than the owner may create files.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The user ID of root.
const ROOT: u32 = 0;

/// An open trigger folder.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    pub(crate) path: PathBuf,
    pub(crate) fd: File,
    /// The user ID of the owner.
    pub(crate) owner: u32,
}

impl FolderHandle {
    /// Opens a folder and checks that only its owner may write to it, and that the owner is this process's user or root.
    /// Root may use the folder of any user.
    pub(crate) fn open(path: &Path) -> Result<Self, FolderError> {
        let error = |problem| FolderError::new(path, "open", problem);
        let opened = openat(CWD, path, FOLDER, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => error(FolderProblem::NotAFolder),
            errno => error(errno.into()),
        })?;
        let fd = File::from(opened);
        let metadata = fd.metadata().map_err(|source| error(source.into()))?;
        let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
        if mode & WRITABLE_BY_OTHERS != 0 {
            return Err(error(FolderProblem::WritableByOthers { mode }));
        }
        let expected = geteuid().as_raw();
        if owner != expected && owner != ROOT && expected != ROOT {
            return Err(error(FolderProblem::ForeignOwner { owner, expected }));
        }
        Ok(Self {
            path: path.to_owned(),
            fd,
            owner,
        })
    }

    /// Opens a folder below this one, and creates it if needed.
    pub(crate) fn subfolder(&self, name: &'static str) -> Result<File, FolderError> {
        match mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.error("create a folder in", errno)),
        }
        let opened = openat(&self.fd, name, FOLDER, Mode::empty());
        let opened = opened.map_err(|errno| self.error("open a folder in", errno))?;
        Ok(File::from(opened))
    }

    /// Returns the error of a step in this folder.
    pub(crate) fn error(
        &self,
        step: &'static str,
        problem: impl Into<FolderProblem>,
    ) -> FolderError {
        FolderError::new(&self.path, step, problem)
    }
}

/// Runs blocking work in a folder on a thread for such work.
pub(crate) async fn blocking<T: Send + 'static>(
    folder: &Path,
    step: &'static str,
    work: impl FnOnce() -> Result<T, FolderError> + Send + 'static,
) -> Result<T, FolderError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(died) => Err(FolderError::new(folder, step, io::Error::other(died))),
    }
}
