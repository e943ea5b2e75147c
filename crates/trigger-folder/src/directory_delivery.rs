//! The delivery into a folder of this machine.
//!
//! **Invariant:** a file appears under its name only by a rename, after its content is durable. A crash leaves at most
//! a temporary file, which no reader takes and which a later delivery removes.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use delivery::TriggerName;
use futures::future::BoxFuture;
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, Uid, fchown, fsync, openat, renameat, statat, unlinkat},
    io::Errno,
};
use tokio::time::Instant;

use crate::{
    delivery_port::{Delivered, Delivery, DeliveryError},
    error::FolderError,
    folder_handle::{FolderHandle, blocking},
    temporary_name::{is_temporary, temporary_name},
};

/// The age from which a temporary file is a leftover of a crash, in seconds.
const LEFTOVER_AGE_SECONDS: i64 = 24 * 60 * 60;
/// The time between two searches for leftovers.
const CLEANUP_INTERVAL: Duration = Duration::from_hours(1);
/// The most temporary names that one delivery tries. A name can be taken by a process of another machine or container
/// with the same process ID.
const MAX_NAME_TRIES: u32 = 100;

const WRITE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A FIFO without a writer would block an open without `NONBLOCK`.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The instants of the last searches for leftovers, by folder. A process delivers into few folders, but makes a
/// [`DirectoryDelivery`] as often as it likes.
static LAST_CLEANUPS: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());

/// The delivery into a folder of this machine.
#[derive(Debug, Clone)]
pub struct DirectoryDelivery {
    folder: PathBuf,
}

impl DirectoryDelivery {
    /// Returns the delivery into a folder. The folder is opened and checked by each delivery, because its volume may be
    /// mounted later.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// `true` if leftovers have not been searched for an hour. Then counts as a search.
    fn is_cleanup_due(&self) -> bool {
        let mut cleanups = LAST_CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let last = cleanups.get(&self.folder);
        let is_due = last.is_none_or(|last| last.elapsed() >= CLEANUP_INTERVAL);
        if is_due {
            cleanups.insert(self.folder.clone(), Instant::now());
        }
        is_due
    }
}

impl Delivery for DirectoryDelivery {
    fn deliver(
        &self,
        name: &TriggerName,
        content: &[u8],
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>> {
        let (name, content) = (*name, content.to_vec());
        Box::pin(async move {
            let (path, cleanup) = (self.folder.clone(), self.is_cleanup_due());
            let write = move || {
                let folder = FolderHandle::open(&path)?;
                write_file(&folder, &name, &content, cleanup)
            };
            let delivered = blocking(&self.folder, "write a file into", write).await?;
            Ok(delivered)
        })
    }
}

/// Writes a file under a temporary name and renames it.
fn write_file(
    folder: &FolderHandle,
    name: &TriggerName,
    content: &[u8],
    cleanup: bool,
) -> Result<Delivered, FolderError> {
    let final_name = name.to_string();
    // 1. Leave a file with the same content. Sync it as well, because an earlier delivery may have failed after the
    // rename, or crashed before the folder was synced.
    if let Some(existing) = open_with_content(folder, &final_name, content)? {
        let synced = existing.sync_all();
        synced.map_err(|error| folder.error("sync a file in", error))?;
        sync(folder)?;
        return Ok(Delivered::AlreadyThere);
    }
    // 2. Write the content and make it durable, before the name shows it to readers.
    let (temporary, mut file) = create_temporary(folder, name)?;
    #[cfg(feature = "failpoints")]
    failpoint::reached("file: created");
    let written = write_content(folder, &mut file, content);
    let renamed = written
        .map_err(|error| folder.error("write a file into", error))
        .and_then(|()| {
            #[cfg(feature = "failpoints")]
            failpoint::reached("file: synced");
            let renamed = renameat(&folder.fd, &temporary, &folder.fd, &final_name);
            renamed.map_err(|errno| folder.error("rename a file in", errno))
        });
    if let Err(error) = renamed {
        // Leave no temporary file behind on a full disk. If that fails as well, a later cleanup removes it.
        unlinkat(&folder.fd, &temporary, AtFlags::empty()).ok();
        return Err(error);
    }
    // 3. Make the name durable. Until then a crash could take the file back.
    #[cfg(feature = "failpoints")]
    failpoint::reached("file: renamed");
    sync(folder)?;
    #[cfg(feature = "failpoints")]
    failpoint::reached("file: durable");
    if cleanup {
        remove_leftovers(folder, &file);
    }
    Ok(Delivered::Written)
}

/// Writes the content of a file, gives the file to the owner of the folder, and makes it durable.
fn write_content(folder: &FolderHandle, file: &mut File, content: &[u8]) -> std::io::Result<()> {
    // A test aborts the process with half of the content written.
    #[cfg(feature = "failpoints")]
    let content = {
        let (first, rest) = content.split_at(content.len() / 2);
        file.write_all(first)?;
        failpoint::reached("file: half written");
        rest
    };
    file.write_all(content)?;
    give_to_owner(folder, file)?;
    file.sync_all()
}

/// Opens the file of a name if it is a regular file with this content.
fn open_with_content(
    folder: &FolderHandle,
    name: &str,
    content: &[u8],
) -> Result<Option<File>, FolderError> {
    let error = |error: std::io::Error| folder.error("read a file in", error);
    let file = match openat(&folder.fd, name, READ, Mode::empty()) {
        Ok(file) => File::from(file),
        // A link or a device is no file of ours. The rename replaces it.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
        Err(errno) => return Err(folder.error("read a file in", errno)),
    };
    let metadata = file.metadata().map_err(error)?;
    if !metadata.is_file() || metadata.len() != content.len() as u64 {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(content.len());
    let limited = &mut (&file).take(content.len() as u64 + 1);
    limited.read_to_end(&mut found).map_err(error)?;
    Ok((found == content).then_some(file))
}

pub(crate) fn create_temporary(
    folder: &FolderHandle,
    name: &TriggerName,
) -> Result<(String, File), FolderError> {
    let mut tries = 0;
    loop {
        let temporary = temporary_name(name);
        match openat(&folder.fd, &temporary, WRITE, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((temporary, File::from(file))),
            Err(Errno::EXIST) if tries < MAX_NAME_TRIES => tries += 1,
            Err(errno) => return Err(folder.error("create a file in", errno)),
        }
    }
}

/// Gives a file to the owner of the folder, so that a runtime of that user can read a file which root has written.
fn give_to_owner(folder: &FolderHandle, file: &File) -> std::io::Result<()> {
    if file.metadata()?.uid() == folder.owner {
        return Ok(());
    }
    match fchown(file, Some(Uid::from_raw(folder.owner)), None) {
        // Only root may give files away. A runtime of root can read the file of any user.
        Err(Errno::PERM) => Ok(()),
        given => Ok(given?),
    }
}

fn sync(folder: &FolderHandle) -> Result<(), FolderError> {
    fsync(&folder.fd).map_err(|errno| folder.error("sync", errno))
}

/// Removes temporary files that are a day older than `newest`, which has just been written: the ages come from the clock
/// of the file system alone. An error is only logged, because the delivery has succeeded.
fn remove_leftovers(folder: &FolderHandle, newest: &File) {
    let removed = || -> std::io::Result<usize> {
        let now = newest.metadata()?.mtime();
        let mut removed = 0;
        for entry in Dir::read_from(&folder.fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if !is_temporary(name.to_bytes()) {
                continue;
            }
            let stat = statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_old = |modified: i64| now.saturating_sub(modified) > LEFTOVER_AGE_SECONDS;
            if stat.is_ok_and(|stat| is_old(stat.st_mtime)) {
                unlinkat(&folder.fd, name, AtFlags::empty())?;
                removed += 1;
            }
        }
        Ok(removed)
    };
    match removed() {
        Ok(0) => {}
        Ok(removed) => tracing::info!(
            removed,
            "removed {removed} temporary files of crashed deliveries from `{}`",
            folder.path.display()
        ),
        Err(error) => {
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::warn!(
                error,
                "cannot remove old temporary files from `{}`",
                folder.path.display()
            );
        }
    }
}
