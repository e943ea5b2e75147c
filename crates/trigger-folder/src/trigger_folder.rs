//! The reader's side of a trigger folder: the files that wait, and the two ways in which they leave it.

use std::{
    ffi::OsString,
    fs::{File, Metadata},
    io::{Read as _, Write as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
};

use delivery::MAX_FILE_BYTES;
use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat},
    io::Errno,
    process::geteuid,
};

use crate::{
    error::FolderError,
    file_name::FileName,
    folder_handle::{FolderHandle, blocking},
    scan::{Scan, scan},
};

/// The folder below a trigger folder that gets the files which are no triggers.
const FAILED: &str = "failed";
/// The longest name that a file keeps in `failed/`, in bytes. The name of its reason must fit as well.
const MAX_REJECTED_NAME_BYTES: usize = 200;
/// The most files of one name in `failed/`. Further ones replace the last one.
const MAX_REJECTED_OF_NAME: u32 = 1000;
/// The user ID of root.
const ROOT: u32 = 0;

/// A FIFO without a writer would block an open without `NONBLOCK`.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const WRITE_REASON: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::TRUNC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The trigger folder of a runtime. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TriggerFolder {
    path: PathBuf,
}

/// The identity and the state of a file, which change if another file takes its name or if it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// A file that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFile {
    /// The content.
    pub content: Vec<u8>,
    /// The stamp of the file that was read.
    pub stamp: FileStamp,
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    /// The file has been read.
    Read(WaitingFile),
    /// The file is no longer there.
    Missing,
    /// A program wrote to the file while it was read. The caller must read it again later.
    Changing,
    /// The file must not be read as a trigger, for this reason.
    Refused(String),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl TriggerFolder {
    /// Returns the folder at a path. The folder is opened and checked by each operation, because it may vanish and
    /// return.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the first `limit` files whose names are higher than `after`, in the order of their names. Blocks the
    /// calling thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be listed, or if other users may write to it.
    pub fn scan(&self, after: Option<&FileName>, limit: usize) -> Result<Scan, FolderError> {
        let folder = FolderHandle::open(&self.path)?;
        scan(&folder, after, limit, MAX_FILE_BYTES as u64)
    }

    /// Reads a file. Follows no link, and waits for no writer of a FIFO.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder or the file cannot be read.
    pub async fn read(&self, name: FileName) -> Result<ReadOutcome, FolderError> {
        self.blocking("read a file in", move |folder| read(folder, &name))
            .await
    }

    /// Removes a file whose work is done. Leaves another file that has taken its name since it was read. Succeeds if
    /// the file is no longer there.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be removed.
    pub async fn remove(&self, name: FileName, stamp: FileStamp) -> Result<(), FolderError> {
        self.blocking("remove a file from", move |folder| {
            remove(folder, &name, stamp)
        })
        .await
    }

    /// Moves a file to the folder `failed`, with the reason beside it in a file that ends in `.reason`. Succeeds if the
    /// file is no longer there.
    ///
    /// # Errors
    ///
    /// Returns an error if the reason cannot be written or the file cannot be moved. The file then stays.
    pub async fn reject(&self, name: FileName, reason: String) -> Result<(), FolderError> {
        self.blocking("move a file in", move |folder| {
            reject(folder, &name, &reason)
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        step: &'static str,
        work: impl FnOnce(&FolderHandle) -> Result<T, FolderError> + Send + 'static,
    ) -> Result<T, FolderError> {
        let path = self.path.clone();
        blocking(&self.path, step, move || work(&FolderHandle::open(&path)?)).await
    }
}

fn read(folder: &FolderHandle, name: &FileName) -> Result<ReadOutcome, FolderError> {
    let error = |error: std::io::Error| folder.error("read a file in", error);
    let mut file = match openat(&folder.fd, name.as_os_str(), READ, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(ReadOutcome::Missing),
        Err(Errno::LOOP) => return Ok(refused("it is a symbolic link: expected a regular file")),
        // A socket, or a device without a driver.
        Err(Errno::NXIO | Errno::OPNOTSUPP) => {
            return Ok(refused(
                "it is a socket or a device: expected a regular file",
            ));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            return Ok(refused(
                "this user may not read it: expected a readable file",
            ));
        }
        Err(errno) => return Err(folder.error("read a file in", errno)),
    };
    // Check the open file, because its name may stand for another one by now.
    let before = file.metadata().map_err(error)?;
    if !before.is_file() {
        return Ok(refused(
            "it is a folder, a FIFO or a device: expected a regular file",
        ));
    }
    let owner = before.uid();
    if owner != folder.owner && owner != ROOT && owner != geteuid().as_raw() {
        let expected = folder.owner;
        return Ok(refused(format!(
            "it belongs to user {owner}: expected a file of user {expected}, to whom the folder belongs"
        )));
    }
    if before.len() > MAX_FILE_BYTES as u64 {
        return Ok(too_large());
    }
    let mut content = Vec::new();
    let limited = &mut (&mut file).take(MAX_FILE_BYTES as u64 + 1);
    limited.read_to_end(&mut content).map_err(error)?;
    if content.len() > MAX_FILE_BYTES {
        return Ok(too_large());
    }
    let stamp = FileStamp::of(&before);
    let after = FileStamp::of(&file.metadata().map_err(error)?);
    if after != stamp {
        return Ok(ReadOutcome::Changing);
    }
    Ok(ReadOutcome::Read(WaitingFile { content, stamp }))
}

fn refused(reason: impl Into<String>) -> ReadOutcome {
    ReadOutcome::Refused(reason.into())
}

fn too_large() -> ReadOutcome {
    refused(format!(
        "it is too large: expected at most {MAX_FILE_BYTES} bytes"
    ))
}

fn remove(folder: &FolderHandle, name: &FileName, stamp: FileStamp) -> Result<(), FolderError> {
    let error = |errno: Errno| folder.error("remove a file from", errno);
    let opened = match openat(&folder.fd, name.as_os_str(), READ, Mode::empty()) {
        Ok(file) => File::from(file),
        // Whatever has taken the name since is not the file that was read.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
        Err(errno) => return Err(error(errno)),
    };
    let metadata = opened.metadata();
    let metadata = metadata.map_err(|source| folder.error("remove a file from", source))?;
    if FileStamp::of(&metadata) != stamp {
        return Ok(());
    }
    match unlinkat(&folder.fd, name.as_os_str(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(error(errno)),
    }
}

fn reject(folder: &FolderHandle, name: &FileName, reason: &str) -> Result<(), FolderError> {
    let failed = folder.subfolder(FAILED)?;
    let target = free_name(&failed, name);
    let mut reason_name = target.clone();
    reason_name.push(".reason");
    // The reason comes first, so that a crash between the two steps leaves the file where it is rejected again.
    let opened = openat(&failed, &reason_name, WRITE_REASON, Mode::RUSR | Mode::WUSR);
    let opened = opened.map_err(|errno| folder.error("write a reason into", errno))?;
    let written = File::from(opened).write_all(format!("{reason}\n").as_bytes());
    #[cfg(feature = "failpoints")]
    failpoint::reached("file: reason written");
    let moved = match written {
        Ok(()) => match renameat(&folder.fd, name.as_os_str(), &failed, &target) {
            Ok(()) => return Ok(()),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(folder.error("move a file in", errno)),
        },
        Err(error) => Err(folder.error("write a reason into", error)),
    };
    // Leave no reason without its file.
    unlinkat(&failed, &reason_name, AtFlags::empty()).ok();
    moved
}

/// Returns a name for a rejected file that no other one has. The runtime holds the lock of the folder, so that no other
/// process takes the name meanwhile.
fn free_name(failed: &File, name: &FileName) -> OsString {
    let bytes = name.as_bytes();
    let bytes = &bytes[..bytes.len().min(MAX_REJECTED_NAME_BYTES)];
    let numbered = |number: u32| {
        let mut target = bytes.to_vec();
        if number > 1 {
            target.extend_from_slice(format!(".{number}").as_bytes());
        }
        OsString::from_vec(target)
    };
    let is_free = |target: &OsString| {
        let found = statat(failed, target.as_bytes(), AtFlags::SYMLINK_NOFOLLOW);
        found.err() == Some(Errno::NOENT)
    };
    let found = (1..MAX_REJECTED_OF_NAME).map(numbered).find(is_free);
    found.unwrap_or_else(|| numbered(MAX_REJECTED_OF_NAME))
}
