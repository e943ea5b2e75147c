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
        let taken = acquire(folder, &worker).await?;
        Ok(Self {
            folder: folder.to_owned(),
            taken: RwLock::new(taken),
            worker,
        })
    }

    /// Takes the locks of the folder that is in place now, if it is another one.
    pub(crate) async fn renew(&self) -> Result<(), LocksError> {
        let is_current = {
            let taken = self.taken.read().unwrap_or_else(PoisonError::into_inner);
            taken.folder.is_current()
        };
        if is_current {
            return Ok(());
        }
        let taken = acquire(&self.folder, &self.worker).await?;
        *self.taken.write().unwrap_or_else(PoisonError::into_inner) = taken;
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
}

async fn acquire(folder: &Path, worker: &WorkerId) -> Result<TakenLocks, LocksError> {
    let locked = FolderLock::acquire(folder).await?;
    let (workers, worker) = (locked.workers_path().to_owned(), worker.clone());
    let taken = {
        let workers = workers.clone();
        tokio::task::spawn_blocking(move || WorkerLock::acquire(&workers, &worker)).await
    };
    let taken = taken.map_err(io::Error::other).flatten();
    Ok(TakenLocks {
        folder: locked,
        worker: Arc::new(taken.map_err(|source| LocksError::Worker {
            folder: workers,
            source,
        })?),
    })
}
