//! Checks the data folder and the free space on its disk.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access, statfs, statvfs},
    process::geteuid,
};
use server::DataFolder;

use crate::{
    finding::Finding,
    formatting::{format_bytes, with_sources},
};

const CHECK: &str = "data folder";
/// The free space in bytes below which there is a warning.
const LOW_FREE_BYTES: u64 = 1 << 30;
/// The free space in bytes below which no turn can run.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// The number of free inodes below which there is a warning.
const MIN_FREE_INODES: u64 = 1000;
/// The magic numbers (linux/magic.h) of network file systems, on which the file locks of SQLite are unreliable: NFS,
/// SMB, CIFS, 9P, Ceph.
const NETWORK_FILE_SYSTEM_MAGICS: [u32; 5] =
    [0x6969, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x00c3_6400];

/// Checks the data folder and adds a finding. Returns the folder if it exists, even if the finding is a problem.
pub(crate) fn check_data_folder(
    path: Option<&Path>,
    findings: &mut Vec<Finding>,
) -> Option<DataFolder> {
    let Some(path) = path else {
        findings.push(Finding::problem(
            CHECK,
            "there is no data folder: HOME is not set",
            "name one with `--data` or MATINS_DATA",
        ));
        return None;
    };
    match DataFolder::open_existing(path) {
        Ok(folder) => {
            findings.push(existing_folder_finding(&folder));
            Some(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            findings.push(missing_folder_finding(path));
            None
        }
        Err(error) => {
            let found = format!("{}: {error}", path.display());
            findings.push(Finding::problem(
                CHECK,
                found,
                "name another one with `--data`",
            ));
            None
        }
    }
}

/// Returns the finding about a folder that does not exist: a problem only if this user cannot create it.
fn missing_folder_finding(path: &Path) -> Finding {
    let above = nearest_existing_ancestor(path);
    let shown = path.display();
    if above.is_dir() && access(&above, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
        let found = format!("{shown} does not exist yet; the first command creates it");
        return Finding::ok(CHECK, found);
    }
    let found = format!(
        "{shown} cannot be created: {} is not writable",
        above.display()
    );
    Finding::problem(CHECK, found, "create it, or name another one with `--data`")
}

/// Returns the finding about an existing folder.
fn existing_folder_finding(folder: &DataFolder) -> Finding {
    let path = folder.path();
    let shown = path.display();
    let Ok(found) = fs::metadata(path) else {
        return Finding::problem(
            CHECK,
            format!("{shown} cannot be examined"),
            "check its permissions",
        );
    };
    if !found.is_dir() {
        let found = format!("{shown} is not a folder");
        return Finding::problem(CHECK, found, "name another one with `--data`");
    }
    let rights = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = access(path, rights) {
        let found = format!("{shown} cannot be used: {error}");
        return Finding::problem(
            CHECK,
            found,
            "change its owner, or name another one with `--data`",
        );
    }
    if let Err(error) = folder.existing_instance_id() {
        let remedy = "restore the file from a backup, because sessions are pinned to this ID";
        return Finding::problem(CHECK, with_sources(&error), remedy);
    }
    if is_open_to_others(path) {
        let found = format!("other users can access {shown}");
        return Finding::warning(CHECK, found, format!("run `chmod 700 {shown}`"));
    }
    if found.uid() != geteuid().as_raw() {
        let found = format!("{shown} belongs to another user");
        return Finding::warning(CHECK, found, "start Matins on it only as that user");
    }
    Finding::ok(CHECK, shown.to_string())
}

/// `true` if the group or other users have any permission on the file.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0)
}

/// Returns the absolute path, or its nearest ancestor that exists.
fn nearest_existing_ancestor(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = path.ancestors().find(|above| above.exists());
    existing.unwrap_or(Path::new("/")).to_owned()
}

/// Checks the free space of the disks that hold some folders. Returns one finding for each disk.
pub(crate) fn check_disks(folders: &[PathBuf]) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for folder in folders {
        let existing = nearest_existing_ancestor(folder);
        let device = fs::metadata(&existing).map_or(0, |found| found.dev());
        if seen.contains(&device) {
            continue;
        }
        seen.push(device);
        findings.push(disk_finding(&existing));
    }
    findings
}

/// Returns the finding about the file system of an existing folder.
fn disk_finding(folder: &Path) -> Finding {
    const CHECK: &str = "disk";
    let shown = folder.display();
    let Ok(found) = statvfs(folder) else {
        return Finding::warning(
            CHECK,
            format!("{shown} cannot be examined"),
            "check its mount",
        );
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let space = format!("{} free at {shown}", format_bytes(free));
    let remedy = "free some space: without it nothing is recorded and no turn is taken";
    if free < MIN_FREE_BYTES {
        return Finding::problem(CHECK, space, remedy);
    }
    if free < LOW_FREE_BYTES {
        return Finding::warning(CHECK, space, remedy);
    }
    // File systems without a fixed number of inodes, such as Btrfs, report 0 of 0.
    if found.f_files > 0 && found.f_favail < MIN_FREE_INODES {
        let inodes = format!(
            "only {} more files can be created at {shown}",
            found.f_favail
        );
        return Finding::warning(CHECK, inodes, "remove files that are not needed");
    }
    let kind = statfs(folder).map_or(0, |found| found.f_type);
    let network = NETWORK_FILE_SYSTEM_MAGICS
        .iter()
        .any(|magic| i64::from(*magic) == kind);
    if network {
        let found = format!("{shown} is on a network file system");
        let remedy = "keep a SQLite file on a local disk, or use PostgreSQL";
        return Finding::warning(CHECK, found, remedy);
    }
    Finding::ok(CHECK, space)
}
