//! The errors of trigger folders.

use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

/// The error of a step in a trigger folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} the trigger folder `{}`", .folder.display())]
pub struct FolderError {
    /// The folder.
    pub folder: PathBuf,
    /// The step that failed, such as `write a file into`.
    pub step: &'static str,
    /// The reason.
    #[source]
    pub problem: FolderProblem,
}

/// The reason why a trigger folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderProblem {
    /// The folder is missing, for example because its volume is not mounted.
    #[error("it does not exist")]
    Missing,
    /// The path names something else.
    #[error("it is a symbolic link or no folder: expected a folder")]
    NotAFolder,
    /// Users other than the owner may create files in the folder.
    #[error(
        "other users may write to it (mode {mode:04o}): expected a folder to which only its owner may write, as after \
         `chmod go-w`"
    )]
    WritableByOthers {
        /// The permissions of the folder.
        mode: u32,
    },
    /// The folder belongs to a user who is neither root nor the user of this process.
    #[error("it belongs to user {owner}: expected a folder of user {expected} or of root")]
    ForeignOwner {
        /// The user ID of the owner.
        owner: u32,
        /// The user ID of this process.
        expected: u32,
    },
    /// The system reported an error.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl FolderError {
    pub(crate) fn new(
        folder: &Path,
        step: &'static str,
        problem: impl Into<FolderProblem>,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            step,
            problem: problem.into(),
        }
    }

    /// `true` if the same step may succeed later without a change by a person, for example because the disk is full or
    /// the folder is missing.
    pub fn is_transient(&self) -> bool {
        let FolderProblem::System(error) = &self.problem else {
            return matches!(self.problem, FolderProblem::Missing);
        };
        let Some(errno) = Errno::from_io_error(error) else {
            return false;
        };
        // The list names the errors that a person has to mend. A new kind of error is retried.
        !matches!(
            errno,
            Errno::ACCESS
                | Errno::PERM
                | Errno::LOOP
                | Errno::NOTDIR
                | Errno::ISDIR
                | Errno::NAMETOOLONG
                | Errno::INVAL
                | Errno::NOSYS
                | Errno::OPNOTSUPP
        )
    }
}

impl From<Errno> for FolderProblem {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            errno => Self::System(errno.into()),
        }
    }
}
