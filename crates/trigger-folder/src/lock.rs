//! The lock of a trigger folder, which keeps a second runtime away.

use std::{
    fs::{self, File, Metadata, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, openat};

use crate::{error::FolderError, folder_handle::FolderHandle};

/// The folder below a trigger folder that holds files of the runtime itself.
const RUNTIME_FOLDER: &str = ".matins";
const LOCK_FILE: &str = "lock";
/// The folder below the runtime's folder that holds the lock files of workers.
const WORKERS: &str = "workers";
/// The longest process ID that is read from the file.
const MAX_PID_BYTES: u64 = 20;

const LOCK: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The lock of a trigger folder. The kernel releases it when the process ends, in whatever way.
#[derive(Debug)]
pub struct FolderLock {
    runtime_folder: PathBuf,
    workers: PathBuf,
    file: File,
}

/// The error of locking a trigger folder.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process serves the folder.
    #[error("another runtime serves the folder `{}`{}", .folder.display(), holder(*.pid))]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// The process ID of the other runtime. `None` if it has not written it yet.
        pid: Option<u32>,
    },
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(": process {pid}"))
}

impl FolderLock {
    /// Locks a folder until this value is dropped. Blocks the calling thread.
    ///
    /// # Errors
    ///
    /// Returns [`LockError::Occupied`] if another process holds the lock.
    pub fn acquire(folder: &Path) -> Result<Self, LockError> {
        lock(folder)?.map_err(|pid| LockError::Occupied {
            folder: folder.to_owned(),
            pid,
        })
    }

    /// `true` if the locked file is the one that a second runtime would lock now. Returns `false` if the folder has
    /// vanished or was replaced by another one. Blocks the calling thread.
    pub fn is_current(&self) -> bool {
        let identity = |file: &Metadata| (file.dev(), file.ino());
        let there = fs::symlink_metadata(self.runtime_folder.join(LOCK_FILE));
        let held = self.file.metadata();
        matches!((there, held), (Ok(there), Ok(held)) if identity(&there) == identity(&held))
    }

    /// Returns the folder for the lock files of the workers that serve this trigger folder.
    pub fn workers_path(&self) -> &Path {
        &self.workers
    }
}

/// Takes the lock, or returns the process ID of its holder.
fn lock(path: &Path) -> Result<Result<FolderLock, Option<u32>>, FolderError> {
    let folder = FolderHandle::open(path)?;
    let runtime_folder = folder.subfolder(RUNTIME_FOLDER)?;
    let opened = openat(&runtime_folder, LOCK_FILE, LOCK, Mode::RUSR | Mode::WUSR);
    let mut file = File::from(opened.map_err(|errno| folder.error("lock", errno))?);
    let error = |error: std::io::Error| folder.error("lock", error);
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let read = (&mut file).take(MAX_PID_BYTES).read_to_string(&mut text);
            return Ok(Err(read.ok().and_then(|_| text.trim().parse().ok())));
        }
        Err(TryLockError::Error(source)) => return Err(error(source)),
    }
    file.set_len(0).map_err(error)?;
    file.rewind().map_err(error)?;
    let pid = format!("{}\n", std::process::id());
    file.write_all(pid.as_bytes()).map_err(error)?;
    let runtime_folder = path.join(RUNTIME_FOLDER);
    Ok(Ok(FolderLock {
        workers: runtime_folder.join(WORKERS),
        runtime_folder,
        file,
    }))
}
