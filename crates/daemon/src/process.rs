//! Whether a worker of this instance still lives.
//!
//! Each worker holds the lock on a file of its own in the instance's folder. The system takes the lock
//! back when the process ends, however it does, and from nobody else's: a reused process id, another
//! machine of the same name and another container are told apart without a thought.

use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io,
    os::unix::fs::MetadataExt,
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
        loop {
            let lock = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            lock.lock()?;
            // Somebody who tidies up may have found the file before it was locked.
            if fs::metadata(&path)
                .is_ok_and(|file| lock.metadata().is_ok_and(|own| same(&file, &own)))
            {
                return Ok(Self {
                    folder: folder.to_owned(),
                    path,
                    _lock: lock,
                });
            }
        }
    }

    /// Whether another worker of the instance is known to be gone. One that has left no file may be of
    /// another folder or an older version: its stale heartbeat tells in the end.
    pub(crate) fn is_gone(&self, other: &WorkerId) -> bool {
        self.is_let_go(&file_of(&self.folder, other))
    }

    /// Whether there is a file that is not this worker's own, and nobody holds it.
    fn is_let_go(&self, path: &Path) -> bool {
        path != self.path && nobody_holds(path)
    }

    /// Takes away what workers have left that are gone, but for those that still have runs. A file stays
    /// when its worker ends, so that what it may have left behind is found at once.
    pub(crate) fn tidy(&self, with_runs: &[WorkerId]) {
        let needed: Vec<_> = with_runs
            .iter()
            .map(|worker| file_of(&self.folder, worker))
            .collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !needed.contains(&path) && self.is_let_go(&path) {
                fs::remove_file(path).ok();
            }
        }
    }
}

/// Whether a worker that gave its sign in `folder` is gone, for whoever only looks.
pub fn has_let_go(folder: &Path, worker: &WorkerId) -> bool {
    nobody_holds(&file_of(folder, worker))
}

/// Whether there is a file, and nobody holds it.
fn nobody_holds(path: &Path) -> bool {
    // Locks belong to open files, so this one is given back at once.
    let Ok(file) = File::open(path) else {
        return false;
    };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, "failed to see whether {} is held", path.display());
            false
        }
    }
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
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
        // However a process ends, the file stays and the lock does not.
        let path = other.path.clone();
        drop(other);
        assert!(own.is_gone(&worker("host-1-00000002")));
        own.tidy(&[worker("host-1-00000002")]);
        assert!(path.exists(), "it still has runs");
        own.tidy(&[]);
        assert!(!path.exists());
        assert!(own.path.exists());
    }

    #[test]
    fn a_strange_name_stays_in_its_folder() {
        let path = file_of(Path::new("/workers"), &worker("../a/b-1-00000001"));
        assert_eq!(path, Path::new("/workers/.._a_b-1-00000001.lock"));
    }
}
