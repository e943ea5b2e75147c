//! The locks by which a runtime shows that it lives: of its folder, and of its worker.
//!
//! Both are files in the folder. If the folder vanishes and another one returns in its place, they are taken again.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use agent::WorkerLock;
use model::WorkerId;
use tokio::runtime::Handle;
use trigger_folder::{FolderLock, LockError};

/// The error of taking the locks.
#[derive(Debug, thiserror::Error)]
pub enum LocksError {
    /// The folder cannot be locked.
    #[error(transparent)]
    Folder(#[from] LockError),
    /// The file of the worker cannot be locked.
    #[error("cannot lock a file in `{}`", .folder.display())]
    Worker {
        /// The folder of the workers' files.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The locks of a runtime.
pub(crate) struct Locks {
    folder: PathBuf,
    worker: WorkerId,
    taken: RwLock<TakenLocks>,
}

struct TakenLocks {
    folder: FolderLock,
    worker: Arc<WorkerLock>,
}

impl Locks {
    /// Takes the locks until this value is dropped.
    pub(crate) async fn acquire(folder: &Path, worker: WorkerId) -> Result<Self, LocksError> {
        let path = folder.to_owned();
        let acquired = tokio::task::spawn_blocking(move || {
            let taken = acquire(&path, &worker)?;
            Ok::<_, LocksError>(Self {
                folder: path,
                taken: RwLock::new(taken),
                worker,
            })
        });
        acquired.await.unwrap_or_else(|died| {
            Err(LocksError::Worker {
                folder: folder.to_owned(),
                source: io::Error::other(died),
            })
        })
    }

    /// Takes the locks of the folder that is in place now, if it is another one. Blocks the calling thread.
    pub(crate) fn renew(&self) -> Result<(), LocksError> {
        let is_current = {
            let taken = self.taken.read().unwrap_or_else(PoisonError::into_inner);
            taken.folder.is_current()
        };
        if is_current {
            return Ok(());
        }
        let taken = acquire(&self.folder, &self.worker)?;
        let before = {
            let mut current = self.taken.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, taken)
        };
        // The files of the earlier folder are closed without the lock, because that may hang on a network volume.
        drop(before);
        tracing::warn!(
            "another folder is at `{}`: it is locked",
            self.folder.display()
        );
        Ok(())
    }

    /// Returns the lock of the worker.
    pub(crate) fn worker(&self) -> Arc<WorkerLock> {
        let taken = self.taken.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&taken.worker)
    }

    /// Uses the lock of the worker on a thread for blocking work, because the folder may hang. The caller may drop the
    /// future, and the thread goes on.
    pub(crate) async fn with_worker<T, F>(
        &self,
        work: impl FnOnce(Arc<WorkerLock>) -> F + Send + 'static,
    ) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = io::Result<T>>,
    {
        let (worker, handle) = (self.worker(), Handle::current());
        let done = tokio::task::spawn_blocking(move || handle.block_on(work(worker)));
        done.await.map_err(io::Error::other).flatten()
    }
}

fn acquire(folder: &Path, worker: &WorkerId) -> Result<TakenLocks, LocksError> {
    let locked = FolderLock::acquire(folder)?;
    let workers = locked.workers_path();
    let taken = WorkerLock::acquire(workers, worker).map_err(|source| LocksError::Worker {
        folder: workers.to_owned(),
        source,
    })?;
    Ok(TakenLocks {
        worker: Arc::new(taken),
        folder: locked,
    })
}
