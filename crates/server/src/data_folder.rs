//! The data folder: the files that one instance of Matins keeps on a disk.
//!
//! - `matins.db`: the SQLite database, unless the configuration names another one.
//! - `instance.id`: the ID of this instance. It is written once and never changes.
//! - `sessions/`: working directories of sessions that were created without one.
//! - `artifacts/`: the contents of artifacts, by tenant and hash.
//! - `demo-agent/`: the sessions of the demonstration agent.
//! - `workers/`: one locked file for each process that takes turns.
//! - `serve.lock`: locked by the server of the folder, so that a folder has at most one server at a time.
//! - `matins.sock`: the server's private socket for the owner of the folder.
//! - `tools-<worker>.sock`: the socket at which a process that takes turns serves the tools of their agents.
//! - `runs/<worker>/`: one file for each running turn, with the secret by which its agent uses the tools.
//! - `server.url`: the network address of the server.
//! - `token`: the first admin token.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use model::{Clock, Entropy, InstanceId};
use tempfile::NamedTempFile;

use crate::error::Error;

/// The name of the database file in the folder.
pub const DATABASE_FILE_NAME: &str = "matins.db";

/// The name of the file that the server of the folder locks. Its content is the process ID of the server.
pub const SERVE_LOCK_FILE_NAME: &str = "serve.lock";

/// The name of the file that holds the network address of the server.
const ADDRESS_FILE_NAME: &str = "server.url";

/// An existing data folder.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
}

impl DataFolder {
    /// Creates the folder with mode 0700 unless it exists, and returns it with its canonical path.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::DataFolder {
            path: path.to_owned(),
            source,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(failed)?;
        let path = fs::canonicalize(path).map_err(failed)?;
        Ok(Self { path })
    }

    /// Returns an existing folder. Does not create it.
    ///
    /// # Errors
    ///
    /// Returns the error of the system, with the kind `NotFound` if the folder does not exist.
    pub fn open_existing(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        Ok(Self { path })
    }

    /// Returns the absolute path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the SQLite database that is used unless the configuration names another one.
    pub fn database_path(&self) -> PathBuf {
        self.path.join(DATABASE_FILE_NAME)
    }

    /// Returns the folder that holds the working directories of sessions that were created without one.
    pub fn sessions_path(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// Returns the folder that holds the contents of artifacts.
    pub fn artifacts_path(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// Returns the folder of the lock files by which workers show that their processes are alive.
    pub fn workers_path(&self) -> PathBuf {
        self.path.join("workers")
    }

    /// Returns the folder in which the demonstration agent keeps its sessions.
    pub fn demo_agent_path(&self) -> PathBuf {
        self.path.join("demo-agent")
    }

    /// Returns the path of the file that holds the first admin token.
    pub fn token_path(&self) -> PathBuf {
        self.path.join("token")
    }

    /// Writes the network address of the server to `server.url`. Removes the file if `address` is `None`.
    pub fn write_address(&self, address: Option<&str>) -> Result<(), Error> {
        let path = self.path.join(ADDRESS_FILE_NAME);
        let failed = |source| file_error("write the file", &path, source);
        let Some(address) = address else {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        };
        // Rename a complete file, so that a reader never sees a part of the address.
        let mut file = NamedTempFile::new_in(&self.path).map_err(failed)?;
        writeln!(file, "{address}").map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Returns the network address of the server. Returns `None` if the file is missing, unreadable or empty.
    pub fn read_address(&self) -> Option<String> {
        let address = fs::read_to_string(self.path.join(ADDRESS_FILE_NAME)).ok()?;
        Some(address.trim().to_owned()).filter(|address| !address.is_empty())
    }

    /// Returns the ID of this instance, and generates it on the first call. Processes that call this at the same time
    /// all get the same ID.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Instance`] if the file `instance.id` holds no valid ID.
    pub fn instance_id(
        &self,
        clock: &dyn Clock,
        entropy: &dyn Entropy,
    ) -> Result<InstanceId, Error> {
        let path = self.path.join("instance.id");
        let failed = |source| file_error("use the file", &path, source);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let id = InstanceId::generate(clock.now(), entropy);
                create_if_absent(&path, &format!("{id}\n")).map_err(failed)?;
                // Read the file again, because another process may have written its ID first.
                fs::read_to_string(&path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        text.trim()
            .parse()
            .map_err(|source| Error::Instance { path, source })
    }

    /// Returns the ID of this instance. Returns `None` if none has been generated yet; does not generate one.
    pub fn existing_instance_id(&self) -> Result<Option<InstanceId>, Error> {
        let path = self.path.join("instance.id");
        match fs::read_to_string(&path) {
            Ok(text) => {
                let id = text.trim().parse();
                id.map(Some)
                    .map_err(|source| Error::Instance { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(file_error("read the file", &path, source)),
        }
    }

    /// Locks the folder for a server. The lock lasts until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FolderLocked`] with the process ID of the other server if the folder is locked.
    pub fn lock(&self) -> Result<ServeLock, Error> {
        let path = self.path.join(SERVE_LOCK_FILE_NAME);
        let failed = |source| file_error("use the file", &path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            // Do not truncate before the lock is held: the content is the process ID of the present owner.
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(failed)?;
                let pid = pid.trim();
                return Err(Error::FolderLocked {
                    path: self.path.clone(),
                    process: if pid.is_empty() { "?" } else { pid }.to_owned(),
                });
            }
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(ServeLock { _file: file })
    }
}

/// The exclusive right to serve a data folder. The kernel releases the lock when the process dies.
#[derive(Debug)]
pub struct ServeLock {
    _file: File,
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    Error::File {
        action,
        path,
        source,
    }
}

/// Creates a file with mode 0600 and this content. If the file already exists, leaves the existing file unchanged. A
/// crash never leaves an incomplete file under `path`.
fn create_if_absent(path: &Path, content: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("id.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    // Unlike a rename, a hard link fails if the name exists, so that of two processes the first one wins.
    let linked = match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    fs::remove_file(&draft)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{OsEntropy, SystemClock};

    #[test]
    fn instance_id_is_stable_and_corrupt_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&folder.path().join("a/b")).unwrap();
        let id = || folder.instance_id(&SystemClock, &OsEntropy).unwrap();
        assert_eq!(id(), id());
        fs::write(folder.path().join("instance.id"), "nonsense").unwrap();
        assert!(folder.instance_id(&SystemClock, &OsEntropy).is_err());
    }

    #[test]
    fn existing_instance_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        create_if_absent(&path, "first").unwrap();
        create_if_absent(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn data_folder_lock_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(folder.path()).unwrap();
        let lock = folder.lock().unwrap();
        assert!(folder.lock().is_err());
        drop(lock);
        assert!(folder.lock().is_ok());
    }
}
