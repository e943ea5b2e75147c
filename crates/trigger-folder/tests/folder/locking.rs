//! The lock of a folder.

use std::{fs, os::unix::fs::symlink};

use trigger_folder::{FolderLock, LockError};

use crate::stage::{Stage, set_mode};

#[test]
fn second_runtime_is_refused_with_process_of_first() {
    let stage = Stage::new();
    let first = FolderLock::acquire(&stage.path).unwrap();
    let second = FolderLock::acquire(&stage.path).unwrap_err();
    let text = second.to_string();
    let expected = format!("`{}`: process {}", stage.path.display(), std::process::id());
    assert!(text.ends_with(&expected), "{text}");
    assert!(matches!(second, LockError::Occupied { .. }));
    // The lock ends with its holder and not with the file, which stays.
    drop(first);
    assert!(stage.path.join(".matins/lock").exists());
    let next = FolderLock::acquire(&stage.path).unwrap();
    let workers = stage.path.join(".matins/workers");
    assert_eq!(next.workers_path(), workers);
}

#[test]
fn lock_of_folder_that_was_replaced_is_not_current() {
    let stage = Stage::new();
    let lock = FolderLock::acquire(&stage.path).unwrap();
    assert!(lock.is_current());
    fs::rename(&stage.path, stage.outside("old")).unwrap();
    assert!(!lock.is_current(), "the folder is missing");
    fs::create_dir(&stage.path).unwrap();
    set_mode(&stage.path, 0o755);
    let other = FolderLock::acquire(&stage.path).unwrap();
    assert!(!lock.is_current() && other.is_current());
}

#[test]
fn unsafe_folder_is_not_locked() {
    let stage = Stage::new();
    set_mode(&stage.path, 0o777);
    let refused = FolderLock::acquire(&stage.path).unwrap_err();
    assert!(matches!(refused, LockError::Folder(_)), "{refused:?}");
    assert!(stage.list().is_empty());
    set_mode(&stage.path, 0o755);
    let outside = stage.outside("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, stage.path.join(".matins")).unwrap();
    FolderLock::acquire(&stage.path).unwrap_err();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}
