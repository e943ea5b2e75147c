//! A scripted agent's sessions: a file for each, and a lock while it is open.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// A session as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) id: String,
    /// The working directory. A restore with another one fails.
    pub(super) cwd: String,
    pub(super) prompts: Vec<String>,
}

pub(super) struct Sessions {
    folder: PathBuf,
}

/// A session that this process has open.
pub(super) struct OpenSession {
    pub(super) stored: StoredSession,
    /// The lock file, locked until the process ends, unless another process holds the lock.
    lock: File,
    pub(super) is_exclusive: bool,
}

impl OpenSession {
    /// Releases the lock, so that another process may open the session.
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

    /// Creates a session that no other process has.
    pub(super) fn create(&self, cwd: &str) -> io::Result<OpenSession> {
        let mut number = 1;
        loop {
            let id = format!("scripted-{number}");
            let lock = self.folder.join(format!("{id}.lock"));
            match OpenOptions::new().write(true).create_new(true).open(lock) {
                Ok(lock) => {
                    lock.lock()?;
                    let stored = StoredSession {
                        id,
                        cwd: cwd.to_owned(),
                        prompts: Vec::new(),
                    };
                    return Ok(OpenSession {
                        stored,
                        lock,
                        is_exclusive: true,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn save(&self, session: &StoredSession) -> io::Result<()> {
        let file = self.folder.join(format!("{}.json", session.id));
        let temporary = file.with_extension("new");
        fs::write(&temporary, serde_json::to_vec(session)?)?;
        fs::rename(temporary, file)
    }

    /// Opens a stored session. Returns `None` if there is none with this ID and working directory.
    pub(super) fn open(&self, id: &str, cwd: &str) -> io::Result<Option<OpenSession>> {
        let Ok(bytes) = fs::read(self.folder.join(format!("{id}.json"))) else {
            return Ok(None);
        };
        let stored: StoredSession = serde_json::from_slice(&bytes)?;
        if stored.cwd != cwd {
            return Ok(None);
        }
        let lock = File::create(self.folder.join(format!("{id}.lock")))?;
        let is_exclusive = match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        Ok(Some(OpenSession {
            stored,
            lock,
            is_exclusive,
        }))
    }

    /// Returns all stored sessions.
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
