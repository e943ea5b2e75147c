//! The working directory of a session, and the files beneath it that its agent names.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::{Component, Path, PathBuf},
};

use model::artifact::MAX_ARTIFACT_BYTES;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat},
    io::Errno,
};

use crate::{
    contents::VerifiedContent,
    error::Error,
    hashing::{CopyError, copy_and_hash},
};

/// The flags of every open beneath a working directory.
const NO_LINK: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
/// The flags by which a directory is opened.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY);
/// The flags by which a file is read. A FIFO without a writer would block an open without `NONBLOCK`.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The open working directory of a session.
#[derive(Debug)]
pub struct WorkingDirectory {
    path: PathBuf,
    root: OwnedFd,
}

/// A regular file of an agent, open for reading.
#[derive(Debug)]
pub struct SourceFile {
    path: String,
    file: File,
    before: FileState,
    /// The number of bytes that [`Self::read_next`] has returned.
    read: u64,
}

/// The size of a file and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    size: u64,
    modified: (i64, i64),
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl WorkingDirectory {
    /// Opens a working directory. Its own path may lead through links, because a person has chosen it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Path`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, path, flags, Mode::empty());
        let root = opened.map_err(|error| {
            let problem = format!(
                "the working directory cannot be opened: {}",
                describe(error)
            );
            path_error(&path.to_string_lossy(), problem)
        })?;
        let path = path.to_owned();
        Ok(Self { path, root })
    }

    /// Opens a regular file, by its path relative to the directory or by its absolute path beneath the directory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Path`] if the path leads out of the directory or through a link, or names no regular file, and
    /// [`Error::TooLarge`] if the file is larger than [`MAX_ARTIFACT_BYTES`].
    pub fn open_file(&self, given: &str) -> Result<SourceFile, Error> {
        let (parent, name) = self.open_parent(given)?;
        let file = open_regular(&parent, &name, given)?;
        let metadata = file
            .metadata()
            .map_err(|error| path_error(given, error.to_string()))?;
        if metadata.size() > MAX_ARTIFACT_BYTES {
            let size = metadata.size();
            return Err(Error::TooLarge { size });
        }
        Ok(SourceFile {
            path: given.to_owned(),
            before: FileState::of(&metadata),
            file,
            read: 0,
        })
    }

    /// Writes a content into a new file, by its path as for [`Self::open_file`]. If the file exists with the same content,
    /// leaves it unchanged.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Exists`] if the file exists with other content, and [`Error::Path`] as [`Self::open_file`] and if
    /// the file cannot be written.
    pub fn write_new(&self, given: &str, mut content: VerifiedContent) -> Result<(), Error> {
        let (parent, name) = self.open_parent(given)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | NO_LINK;
        // The umask of the process takes away from this mode, as from that of every file.
        let mode = Mode::from_raw_mode(0o666);
        let mut file = match openat(&parent, &name, flags, mode) {
            Ok(file) => File::from(file),
            Err(Errno::EXIST) => return compare(&parent, &name, given, &content),
            Err(error) => return Err(path_error(given, describe(error))),
        };
        match copy_and_hash(&mut content.file, &mut file) {
            Ok(copied) if copied == (content.sha256, content.size) => Ok(()),
            copied => {
                // Leave no file that looks complete.
                let removed = unlinkat(&parent, &name, AtFlags::empty());
                removed.map_err(|error| path_error(given, describe(error)))?;
                Err(match copied {
                    Err(CopyError::Read(error) | CopyError::Write(error)) => {
                        path_error(given, error.to_string())
                    }
                    Ok(_) => Error::Damaged {
                        sha256: content.sha256,
                        problem: "damaged",
                    },
                })
            }
        }
    }

    /// Opens the directories above the last name of a path, one after the other. Returns the last one and the last name.
    fn open_parent(&self, given: &str) -> Result<(OwnedFd, PathBuf), Error> {
        let mut names = self.names(given)?;
        let Some(last) = names.pop() else {
            let problem = "it is the working directory; accepted is a file beneath it";
            return Err(path_error(given, problem));
        };
        let cloned = self.root.try_clone();
        let mut parent = cloned.map_err(|error| path_error(given, error.to_string()))?;
        for name in names {
            let opened = openat(&parent, &name, DIRECTORY | NO_LINK, Mode::empty());
            parent = opened.map_err(|error| path_error(given, describe(error)))?;
        }
        Ok((parent, last))
    }

    /// Returns the names of which a path consists, relative to the directory.
    fn names(&self, given: &str) -> Result<Vec<PathBuf>, Error> {
        let path = Path::new(given);
        let relative = if path.is_absolute() {
            // An agent may know its directory by the path without links.
            let canonical = self.path.canonicalize().ok();
            let beneath = path.strip_prefix(&self.path).ok().or_else(|| {
                let canonical = canonical.as_ref()?;
                path.strip_prefix(canonical).ok()
            });
            beneath.ok_or_else(|| {
                let problem = format!(
                    "it is outside of the working directory `{}`",
                    self.path.display()
                );
                path_error(given, problem)
            })?
        } else {
            path
        };
        let mut names = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name.into()),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    let problem =
                        "it contains `..`; accepted is a path beneath the working directory";
                    return Err(path_error(given, problem));
                }
            }
        }
        Ok(names)
    }
}

/// Checks that an existing file has a content.
fn compare(
    parent: &OwnedFd,
    name: &Path,
    given: &str,
    content: &VerifiedContent,
) -> Result<(), Error> {
    let mut file = open_regular(parent, name, given)?;
    let limited = &mut (&mut file).take(content.size + 1);
    match copy_and_hash(limited, &mut io::sink()) {
        Ok(found) if found == (content.sha256, content.size) => Ok(()),
        Ok(_) => Err(Error::Exists {
            path: given.to_owned(),
        }),
        Err(CopyError::Read(error) | CopyError::Write(error)) => {
            Err(path_error(given, error.to_string()))
        }
    }
}

/// Opens a regular file for reading.
fn open_regular(parent: &OwnedFd, name: &Path, given: &str) -> Result<File, Error> {
    let opened = openat(parent, name, READ | NO_LINK, Mode::empty());
    let file = File::from(opened.map_err(|error| path_error(given, describe(error)))?);
    // Check the open file, because its name may stand for another one by now.
    let kind = file
        .metadata()
        .map_err(|error| path_error(given, error.to_string()))?
        .file_type();
    if kind.is_file() {
        return Ok(file);
    }
    let found = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else {
        "a device"
    };
    let problem = format!("it is {found}; accepted is a regular file");
    Err(path_error(given, problem))
}

impl SourceFile {
    /// Returns the path, as the agent named it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the number of bytes that the file had when it was opened.
    pub const fn size(&self) -> u64 {
        self.before.size
    }

    /// Reads the next bytes, up to `limit`. Returns `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Changed`] at the end if the file has changed since it was opened, and [`Error::Path`] if it cannot be
    /// read.
    pub fn read_next(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = vec![0; limit];
        let read = loop {
            match self.file.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|error| path_error(&self.path, error.to_string()))?;
        self.read += read as u64;
        if read == 0 || self.read > self.before.size {
            self.check_unchanged(self.read)?;
            return Ok(None);
        }
        bytes.truncate(read);
        Ok(Some(bytes))
    }

    pub(crate) fn reader(&self) -> &File {
        &self.file
    }

    /// Checks that the file has not changed since it was opened, and that it has as many bytes as were read.
    pub(crate) fn check_unchanged(&self, read: u64) -> Result<(), Error> {
        let metadata = self
            .file
            .metadata()
            .map_err(|error| path_error(&self.path, error.to_string()))?;
        if FileState::of(&metadata) == self.before && self.before.size == read {
            return Ok(());
        }
        Err(Error::Changed {
            path: self.path.clone(),
        })
    }
}

fn describe(error: Errno) -> String {
    match error {
        // The kernel returns the second one for a link at which a directory is expected.
        Errno::LOOP | Errno::NOTDIR => {
            "a part of it is a symbolic link, which Matins does not follow, or no directory".into()
        }
        Errno::NOENT => "it does not exist".into(),
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::OPNOTSUPP => "it is a device; accepted is a regular file".into(),
        error => io::Error::from(error).to_string(),
    }
}

fn path_error(path: &str, problem: impl Into<String>) -> Error {
    Error::Path {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(test)]
#[path = "tests_working_directory.rs"]
mod tests;
