//! The files of the demonstration agent's sessions.
//!
//! `<id>.json` holds the memory of a session. A process locks `<id>.lock` while it has the session open; the file is
//! empty. It is never removed, because two processes could then hold locks on two files of the same name.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::session::Memory;

/// The prefix of a session ID. A random part follows it.
const ID_PREFIX: &str = "demo_";
/// The number of hexadecimal digits of the random part.
const ID_DIGITS: usize = 32;

/// A reason why a session cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    #[error("unknown session `{0}`")]
    UnknownSession(String),
    #[error("session `{0}` is busy: another process has it open")]
    Busy(String),
    #[error("{} is not a valid session file", path.display())]
    Corrupt {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("cannot {doing} {}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Returns a function that adds the attempted action and the path to an error of the system.
fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    let path = path.to_owned();
    move |source| DiskError::Io {
        doing,
        path,
        source,
    }
}

/// The folder that holds the files of all sessions.
#[derive(Debug)]
pub(super) struct SessionFolder(PathBuf);

/// The file of an open session. A lock keeps other processes from opening the session until this value is dropped;
/// the kernel releases the lock if the process dies.
#[derive(Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
    _lock: File,
}

impl SessionFolder {
    /// Opens the folder. Creates it with mode 0700 if it does not exist.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Ok(Self(path.to_owned()))
    }

    /// Creates a session and opens it. Returns its ID and its file.
    pub(super) fn create(&self, memory: &Memory) -> Result<(String, SessionFile), DiskError> {
        let mut random = [0; ID_DIGITS / 2];
        getrandom::fill(&mut random)
            .map_err(|error| io_error("generate a session ID in", &self.0)(error.into()))?;
        let id = format!("{ID_PREFIX}{:032x}", u128::from_be_bytes(random));
        let file = self.lock_session(&id)?;
        file.save(memory)?;
        Ok((id, file))
    }

    /// Opens an existing session for this process alone and reads its memory.
    pub(super) fn reopen(&self, id: &str) -> Result<(SessionFile, Memory), DiskError> {
        let unknown = || DiskError::UnknownSession(id.to_owned());
        // The client chose the ID. An ID of any other form, such as `../x`, must never become part of a path.
        if !is_session_id(id) || !self.json_path(id).exists() {
            return Err(unknown());
        }
        let file = self.lock_session(id)?;
        let memory = read_memory(&file.path)?;
        Ok((file, memory))
    }

    /// Reads all sessions, including those that other processes have open. Fails if any of them cannot be read,
    /// because the client would take an omitted session for a deleted one.
    pub(super) fn list(&self) -> Result<Vec<(String, Memory)>, DiskError> {
        let mut found = Vec::new();
        let refused = || io_error("list", &self.0);
        for entry in fs::read_dir(&self.0).map_err(refused())? {
            let path = entry.map_err(refused())?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(id) = name.filter(|id| is_session_id(id)) else {
                continue;
            };
            if path.extension().is_some_and(|kind| kind == "json") {
                found.push((id.to_owned(), read_memory(&path)?));
            }
        }
        found.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(found)
    }

    fn lock_session(&self, id: &str) -> Result<SessionFile, DiskError> {
        let path = self.0.join(format!("{id}.lock"));
        let lock = File::create(&path).map_err(io_error("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(SessionFile {
                path: self.json_path(id),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DiskError::Busy(id.to_owned())),
            Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
        }
    }

    fn json_path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

impl SessionFile {
    /// Writes the memory. A crash at any moment leaves either the old or the new content.
    pub(super) fn save(&self, memory: &Memory) -> Result<(), DiskError> {
        // The lock makes this process the only writer, so no other process uses the temporary name.
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
            // The rename is durable only after its folder has been synced.
            match self.path.parent() {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            }
        };
        write().map_err(io_error("write", &self.path))
    }
}

fn read_memory(path: &Path) -> Result<Memory, DiskError> {
    let text = fs::read(path).map_err(io_error("read", path))?;
    serde_json::from_slice(&text).map_err(|source| DiskError::Corrupt {
        path: path.to_owned(),
        source,
    })
}

fn is_session_id(id: &str) -> bool {
    id.strip_prefix(ID_PREFIX).is_some_and(|random| {
        random.len() == ID_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
