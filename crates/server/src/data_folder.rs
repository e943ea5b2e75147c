//! The data folder: what one instance of Matins keeps on a disk.
//!
//! `matins.db`, `instance.id` (who this instance is), `sessions/` (folders of sessions that were given
//! none), `demo-agent/`, `workers/` (a locked file for each process that takes turns), `serve.lock` (held by
//! whoever serves the folder), `matins.sock` (where that one serves the API to the folder's owner, and
//! `matins-<pid>.sock` a process that takes one turn), `server.url` (where it serves it to others) and `token`
//! (the first token of an admin).

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use model::{Clock, Entropy, InstanceId};
use tempfile::NamedTempFile;

use crate::error::Error;

/// The database's name in the folder.
pub const DATABASE: &str = "matins.db";

/// The name of the file that whoever serves the folder holds; its content is the process id.
pub const SERVE_LOCK: &str = "serve.lock";

/// The name of the file that says where whoever serves the folder serves the API.
const ADDRESS: &str = "server.url";

/// A data folder that is there.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
}

impl DataFolder {
    /// Makes the folder, for this user alone, unless it is there.
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

    /// Looks for a folder; none is made.
    pub fn look(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        Ok(Self { path })
    }

    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database, unless another one is named.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Where sessions that were given no working directory have one.
    pub fn sessions(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// Where workers show that they live.
    pub fn workers(&self) -> PathBuf {
        self.path.join("workers")
    }

    /// Where the demonstration agent keeps its sessions.
    pub fn demo_agent(&self) -> PathBuf {
        self.path.join("demo-agent")
    }

    /// Where the first token of an admin is written.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// Notes the address at which the folder is served, or that there is none.
    pub fn note_address(&self, address: Option<&str>) -> Result<(), Error> {
        let path = self.path.join(ADDRESS);
        let failed = |source| file_error("write the file", &path, source);
        let Some(address) = address else {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        };
        let mut file = NamedTempFile::new_in(&self.path).map_err(failed)?;
        writeln!(file, "{address}").map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The address at which the folder is served, where whoever serves it has noted one.
    pub fn address(&self) -> Option<String> {
        let noted = fs::read_to_string(self.path.join(ADDRESS)).ok()?;
        Some(noted.trim().to_owned()).filter(|address| !address.is_empty())
    }

    /// Who this instance is: made once, whoever comes first, and the same ever after.
    pub fn instance(&self, clock: &dyn Clock, entropy: &dyn Entropy) -> Result<InstanceId, Error> {
        let path = self.path.join("instance.id");
        let failed = |source| file_error("use the file", &path, source);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let id = InstanceId::generate(clock.now(), entropy);
                write_once(&path, &format!("{id}\n")).map_err(failed)?;
                fs::read_to_string(&path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        text.trim()
            .parse()
            .map_err(|source| Error::Instance { path, source })
    }

    /// Who this instance is, where that was ever said.
    pub fn instance_that_is_there(&self) -> Result<Option<InstanceId>, Error> {
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

    /// Takes the folder for whoever serves it, until the lock is dropped.
    pub fn lock(&self) -> Result<ServeLock, Error> {
        let path = self.path.join(SERVE_LOCK);
        let failed = |source| file_error("use the file", &path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
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
                return Err(Error::Locked {
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

/// The right to serve a data folder. The system takes it back from a process that dies.
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

/// Makes a file for its owner alone with this content unless it is there, whole or not at all.
fn write_once(path: &Path, content: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("id.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
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
    fn an_instance_stays_who_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&folder.path().join("a/b")).unwrap();
        let id = || folder.instance(&SystemClock, &OsEntropy).unwrap();
        assert_eq!(id(), id());
        fs::write(folder.path().join("instance.id"), "nonsense").unwrap();
        assert!(folder.instance(&SystemClock, &OsEntropy).is_err());
    }

    #[test]
    fn a_file_that_is_there_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        write_once(&path, "first").unwrap();
        write_once(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_served_once_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(folder.path()).unwrap();
        let lock = folder.lock().unwrap();
        assert!(folder.lock().is_err());
        drop(lock);
        assert!(folder.lock().is_ok());
    }
}
