//! Whether a worker of this instance still lives.
//!
//! Each worker holds the lock on a file of its own in the instance's folder. The system takes the lock
//! back when the process ends, however it does, and from nobody else's: a reused process id, another
//! machine of the same name and another container are told apart without a thought.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use model::WorkerId;

/// A worker's sign of life, for as long as it is kept.
#[derive(Debug)]
pub struct SignOfLife {
    folder: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl SignOfLife {
    /// Gives it for a worker, in the folder that all workers of the instance share; made if it is not
    /// there. To be called before the worker claims anything.
    pub fn give(folder: &Path, worker: &WorkerId) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = file_of(folder, worker);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        lock.lock()?;
        Ok(Self {
            folder: folder.to_owned(),
            path,
            _lock: lock,
        })
    }

    /// Whether another worker of the instance is known to be gone. One that has left no file may be of
    /// another folder or an older version: its stale heartbeat tells in the end.
    pub(crate) fn is_gone(&self, other: &WorkerId) -> bool {
        let path = file_of(&self.folder, other);
        if path == self.path {
            return false;
        }
        // Locks belong to open files, so this one is given back at once.
        let Ok(file) = File::open(path) else {
            return false;
        };
        match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, worker = %other, "failed to see whether a worker lives");
                false
            }
        }
    }

    /// Takes away what a worker has left that is gone, once nothing needs it any more.
    pub(crate) fn forget(&self, gone: &WorkerId) {
        fs::remove_file(file_of(&self.folder, gone)).ok();
    }
}

impl Drop for SignOfLife {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Worker ids are made of a host's name, which is not of our making.
fn file_of(folder: &Path, worker: &WorkerId) -> PathBuf {
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => letter,
        _ => '_',
    };
    let name: String = worker.as_str().chars().map(plain).collect();
    folder.join(format!("{name}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> WorkerId {
        WorkerId::from_stored(name.into())
    }

    #[test]
    fn only_who_has_let_go_of_its_sign_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let give = |name: &str| SignOfLife::give(folder.path(), &worker(name)).unwrap();
        let own = give("host-1-00000001");
        let other = give("host-1-00000002");
        assert!(!own.is_gone(&worker("host-1-00000001")), "itself");
        assert!(!own.is_gone(&worker("host-1-00000002")), "it lives");
        assert!(!own.is_gone(&worker("host-1-00000003")), "nobody knows it");
        // As the system does for a process that is killed: the file stays, the lock does not.
        let path = other.path.clone();
        drop(other);
        fs::write(&path, "").unwrap();
        assert!(own.is_gone(&worker("host-1-00000002")));
        own.forget(&worker("host-1-00000002"));
        assert!(!path.exists());
    }

    #[test]
    fn a_strange_name_stays_in_its_folder() {
        let path = file_of(Path::new("/workers"), &worker("../a/b-1-00000001"));
        assert_eq!(path, Path::new("/workers/.._a_b-1-00000001.lock"));
    }
}
