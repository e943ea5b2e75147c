//! The folders of test databases.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use rustix::fs::{Access, access, statvfs};

/// A folder in memory on Linux. A commit waits for no disk there.
const MEMORY_FOLDER: &str = "/dev/shm";
/// The free space in bytes at which databases are kept in memory. Containers often have much less.
const MIN_FREE_MEMORY: u64 = 2 << 30;

/// Returns a folder in memory if the machine has one with enough space, else the system's temporary folder.
pub(super) fn temporary_folder() -> PathBuf {
    let folder = Path::new(MEMORY_FOLDER);
    let is_writable = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    let space = statvfs(folder).map(|space| space.f_bavail * space.f_frsize);
    if is_writable && space.is_ok_and(|free| free >= MIN_FREE_MEMORY) {
        folder.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// Creates the folder that all test processes of this user share, if it does not exist.
pub(super) fn shared_folder() -> anyhow::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = temporary_folder().join(format!("matins-testkit-{user}"));
    // Mode 711 lets the user of the server enter its folder below, but lets no other user list this one.
    create_with_mode(&folder, 0o711)?;
    let facts = fs::symlink_metadata(&folder)
        .context("cannot read the metadata of the test databases' folder")?;
    ensure!(
        facts.is_dir() && facts.uid() == user,
        "`{}` belongs to another user or is no folder; remove it",
        folder.display()
    );
    Ok(folder)
}

/// Creates a folder with a mode, if it does not exist.
pub(super) fn create_with_mode(folder: &Path, mode: u32) -> anyhow::Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot create `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}
