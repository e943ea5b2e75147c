//! A scripted agent's sessions: one file each, and a lock while one is open.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// What is kept of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) id: String,
    /// Restoring with another one fails.
    pub(super) cwd: String,
    pub(super) prompts: Vec<String>,
}

pub(super) struct Sessions {
    folder: PathBuf,
}

/// A session that this process has open.
pub(super) struct OpenSession {
    pub(super) stored: StoredSession,
    /// Locked until the process ends, unless another one has it.
    lock: File,
    pub(super) is_exclusive: bool,
}

impl OpenSession {
    /// Another process may open it now.
    pub(super) fn release(&self) -> io::Result<()> {
        self.lock.unlock()
    }
}

impl Sessions {
    pub(super) fn new(home: &Path) -> io::Result<Self> {
        let folder = home.join("sessions");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Makes a session that no other process has.
    pub(super) fn create(&self, cwd: &str) -> io::Result<OpenSession> {
        let mut number = 1;
        loop {
            let id = format!("scripted-{number}");
            let lock = self.folder.join(format!("{id}.lock"));
            match OpenOptions::new().write(true).create_new(true).open(lock) {
                Ok(lock) => {
                    lock.lock()?;
                    let kept = StoredSession {
                        id,
                        cwd: cwd.to_owned(),
                        prompts: Vec::new(),
                    };
                    return Ok(OpenSession {
                        stored: kept,
                        lock,
                        is_exclusive: true,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn save(&self, kept: &StoredSession) -> io::Result<()> {
        let file = self.folder.join(format!("{}.json", kept.id));
        let fresh = file.with_extension("new");
        fs::write(&fresh, serde_json::to_vec(kept)?)?;
        fs::rename(fresh, file)
    }

    /// Opens a session that was kept; `None` if there is none of this id and folder.
    pub(super) fn open(&self, id: &str, cwd: &str) -> io::Result<Option<OpenSession>> {
        let Ok(bytes) = fs::read(self.folder.join(format!("{id}.json"))) else {
            return Ok(None);
        };
        let kept: StoredSession = serde_json::from_slice(&bytes)?;
        if kept.cwd != cwd {
            return Ok(None);
        }
        let lock = File::create(self.folder.join(format!("{id}.lock")))?;
        let alone = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        Ok(Some(OpenSession {
            stored: kept,
            lock,
            is_exclusive: alone,
        }))
    }

    /// Ids and folders of all that was kept.
    pub(super) fn list(&self) -> io::Result<Vec<StoredSession>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push(serde_json::from_slice(&fs::read(path)?)?);
            }
        }
        Ok(found)
    }
}
