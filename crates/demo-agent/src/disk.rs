//! The files of the demonstration agent's sessions: `<id>.json` holds the memory, `<id>.lock` is
//! locked while a process has the session open and stays behind, empty.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::session::Memory;

/// What stands before the random part of a session's id.
const ID_PREFIX: &str = "demo_";
/// How many hexadecimal digits the random part has.
const ID_DIGITS: usize = 32;

/// Why a session cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    #[error("session {0:?} is not known here")]
    Unknown(String),
    #[error("session {0} is busy: another process has it open")]
    Busy(String),
    #[error("{} is not the memory of a session", path.display())]
    Corrupt {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{doing} {}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Names what was being done to a file when the system refused.
fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    let path = path.to_owned();
    move |source| DiskError::Io {
        doing,
        path,
        source,
    }
}

/// The folder of all sessions.
#[derive(Debug)]
pub(super) struct Home(PathBuf);

/// A session's file, kept from other processes by a lock until this is dropped.
///
/// The kernel releases the lock when a process ends, however it ends.
#[derive(Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
    _lock: File,
}

impl Home {
    /// Takes the folder, which is made for its owner alone if it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Makes a session and keeps it open.
    pub(super) fn create(&self, memory: &Memory) -> Result<(String, SessionFile), DiskError> {
        let mut random = [0; ID_DIGITS / 2];
        getrandom::fill(&mut random)
            .map_err(|error| failed("failed to name a session in", &self.0)(error.into()))?;
        let id = format!("{ID_PREFIX}{:032x}", u128::from_be_bytes(random));
        let file = self.lock(&id)?;
        file.save(memory)?;
        Ok((id, file))
    }

    /// Opens a session for this process alone and reads what it remembers.
    pub(super) fn reopen(&self, id: &str) -> Result<(SessionFile, Memory), DiskError> {
        let unknown = || DiskError::Unknown(id.to_owned());
        // What is not one of our names must never become part of a path.
        if !is_id(id) || !self.json(id).exists() {
            return Err(unknown());
        }
        let file = self.lock(id)?;
        let memory = read(&file.path)?;
        Ok((file, memory))
    }

    /// Reads all sessions, whether open or not. One that cannot be read fails the whole list, for
    /// a session that is left out would look as if it were gone.
    pub(super) fn list(&self) -> Result<Vec<(String, Memory)>, DiskError> {
        let mut found = Vec::new();
        let refused = || failed("failed to list", &self.0);
        for entry in fs::read_dir(&self.0).map_err(refused())? {
            let path = entry.map_err(refused())?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(id) = name.filter(|id| is_id(id)) else {
                continue;
            };
            if path.extension().is_some_and(|kind| kind == "json") {
                found.push((id.to_owned(), read(&path)?));
            }
        }
        found.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(found)
    }

    fn lock(&self, id: &str) -> Result<SessionFile, DiskError> {
        let path = self.0.join(format!("{id}.lock"));
        let lock = File::create(&path).map_err(failed("failed to open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(SessionFile {
                path: self.json(id),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DiskError::Busy(id.to_owned())),
            Err(TryLockError::Error(error)) => Err(failed("failed to lock", &path)(error)),
        }
    }

    fn json(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

impl SessionFile {
    /// Writes the memory so that a crash at any moment leaves either the old one or the new one.
    pub(super) fn save(&self, memory: &Memory) -> Result<(), DiskError> {
        // The lock makes this process the only writer, so the temporary name is its own.
        let temporary = self.path.with_extension("json.new");
        let text = serde_json::to_vec_pretty(memory).map_err(|source| DiskError::Corrupt {
            path: self.path.clone(),
            source,
        })?;
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)?;
            // A rename is durable only once its folder is.
            match self.path.parent() {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            }
        };
        write().map_err(failed("failed to write", &self.path))
    }
}

fn read(path: &Path) -> Result<Memory, DiskError> {
    let text = fs::read(path).map_err(failed("failed to read", path))?;
    serde_json::from_slice(&text).map_err(|source| DiskError::Corrupt {
        path: path.to_owned(),
        source,
    })
}

fn is_id(id: &str) -> bool {
    id.strip_prefix(ID_PREFIX).is_some_and(|random| {
        random.len() == ID_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
