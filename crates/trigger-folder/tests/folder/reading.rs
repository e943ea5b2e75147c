//! The reading and the removal of single files.

use std::{fs, os::unix::fs::symlink, time::Duration};

use delivery::MAX_FILE_BYTES;
use rustix::fs::{CWD, FileType, mknodat};
use tokio::time::Instant;
use trigger_folder::{IncompleteFiles, ReadOutcome};

use crate::stage::{Stage, file_name};

#[tokio::test]
async fn links_pipes_folders_and_oversized_files_are_not_read() {
    let stage = Stage::new();
    let secret = stage.outside("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, stage.path.join("link.json")).unwrap();
    fs::create_dir(stage.path.join("folder.json")).unwrap();
    let pipe = stage.path.join("pipe.json");
    mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
    let large = fs::File::create(stage.path.join("large.json")).unwrap();
    large.set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
    for (name, expected) in [
        ("link.json", "symbolic link"),
        ("folder.json", "expected a regular file"),
        ("pipe.json", "expected a regular file"),
        ("large.json", "at most 8388608 bytes"),
    ] {
        match stage.read(name).await {
            ReadOutcome::Refused(reason) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(stage.read("missing.json").await, ReadOutcome::Missing);
    large.set_len(MAX_FILE_BYTES as u64).unwrap();
    assert_eq!(
        stage.read_file("large.json").await.content.len(),
        MAX_FILE_BYTES
    );
}

#[tokio::test]
async fn removal_spares_a_file_that_has_taken_the_name() {
    let stage = Stage::new();
    stage.write("a.json", "first");
    let first = stage.read_file("a.json").await;
    // A program renames its next file to the same name, while the first one is at work.
    stage.write(".next", "other");
    fs::rename(stage.path.join(".next"), stage.path.join("a.json")).unwrap();
    let remove = |stamp| stage.reader.remove(file_name("a.json"), stamp);
    remove(first.stamp).await.unwrap();
    let second = stage.read_file("a.json").await;
    assert_eq!(second.content, b"other");
    remove(second.stamp).await.unwrap();
    assert!(stage.list().is_empty());
    // A second removal, as after a lost reply of a network volume, succeeds.
    remove(second.stamp).await.unwrap();
}

#[tokio::test]
async fn removal_spares_a_file_that_was_written_since() {
    let stage = Stage::new();
    stage.write("a.json", "first");
    let first = stage.read_file("a.json").await;
    stage.write("a.json", "second");
    stage
        .reader
        .remove(file_name("a.json"), first.stamp)
        .await
        .unwrap();
    assert_eq!(stage.read_file("a.json").await.content, b"second");
}

#[tokio::test]
async fn incomplete_file_is_final_after_thirty_unchanged_seconds() {
    let stage = Stage::new();
    let name = file_name("a.json");
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut incomplete = IncompleteFiles::default();
    stage.write("a.json", "{");
    let half = stage.read_file("a.json").await.stamp;
    assert!(!incomplete.is_final(&name, half, at(0)));
    assert!(!incomplete.is_final(&name, half, at(29)));
    // The program goes on, and the time begins again.
    stage.write("a.json", "{\"task\"");
    let more = stage.read_file("a.json").await.stamp;
    assert_ne!(half, more);
    assert!(!incomplete.is_final(&name, more, at(31)));
    assert!(!incomplete.is_final(&name, more, at(60)));
    assert!(incomplete.is_final(&name, more, at(61)));
    incomplete.forget(&name);
    assert!(incomplete.is_empty());
    assert!(!incomplete.is_final(&name, more, at(62)));
}

#[tokio::test]
async fn incomplete_files_that_vanish_are_forgotten() {
    let stage = Stage::new();
    stage.write("a.json", "{");
    let stamp = stage.read_file("a.json").await.stamp;
    let start = Instant::now();
    let mut incomplete = IncompleteFiles::default();
    for number in 0..5000 {
        let name = file_name(&format!("{number}.json"));
        assert!(!incomplete.is_final(&name, stamp, start));
    }
    // The table is full, so that the last files have to wait longer, but they are never lost.
    let last = file_name("4999.json");
    let later = start + Duration::from_mins(5);
    assert!(!incomplete.is_final(&last, stamp, later));
    let end = later + Duration::from_secs(30);
    assert!(incomplete.is_final(&last, stamp, end));
}
