use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use model::TenantId;
use rustix::fs::{FileType, mknodat};
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::ContentFolder;

const TENANT: TenantId = TenantId::from_uuid(Uuid::from_u128(1));

/// A working directory beside a file that its agent must not reach.
fn home() -> (TempDir, WorkingDirectory) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    fs::create_dir_all(work.join("sub/deep")).unwrap();
    fs::write(home.path().join("secret"), "secret").unwrap();
    fs::write(work.join("sub/deep/report"), "report").unwrap();
    let directory = WorkingDirectory::open(&work).unwrap();
    (home, directory)
}

fn problem_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Path { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn path_out_of_directory_is_refused() {
    let (home, directory) = home();
    let secret = home.path().join("secret");
    let above = home.path().join("work/../secret");
    for given in [
        "../secret",
        "sub/../../secret",
        "sub/deep/../report",
        secret.to_str().unwrap(),
        above.to_str().unwrap(),
        "/etc/passwd",
        "/proc/self/environ",
    ] {
        let problem = problem_of(directory.open_file(given));
        assert!(
            problem.contains("`..`") || problem.contains("outside"),
            "{given}: {problem}"
        );
    }
    for given in ["", ".", "/elsewhere/report"] {
        problem_of(directory.open_file(given));
    }
}

#[test]
fn link_in_any_component_is_not_followed() {
    let (home, directory) = home();
    let work = home.path().join("work");
    symlink(home.path(), work.join("up")).unwrap();
    symlink(home.path().join("secret"), work.join("file")).unwrap();
    symlink(work.join("sub"), work.join("inner")).unwrap();
    symlink("deep/report", work.join("sub/report")).unwrap();
    symlink("/proc/self/fd", work.join("fd")).unwrap();
    let content = ContentFolder::new(home.path().join("artifacts"));
    let stored = content.store_text(TENANT, "content").unwrap();
    for given in [
        "up/secret",
        "file",
        "inner/deep/report",
        "sub/report",
        "fd/0",
    ] {
        let problem = problem_of(directory.open_file(given));
        assert!(problem.contains("link"), "{given}: {problem}");
        let open = content.open(TENANT, stored.sha256, stored.size).unwrap();
        let problem = problem_of(directory.write_new(given, open));
        assert!(problem.contains("link"), "{given}: {problem}");
    }
    assert_eq!(fs::read(home.path().join("secret")).unwrap(), b"secret");
    // A link that leads nowhere is not created through.
    symlink(home.path().join("new"), work.join("dangling")).unwrap();
    let open = content.open(TENANT, stored.sha256, stored.size).unwrap();
    problem_of(directory.write_new("dangling", open));
    assert!(!home.path().join("new").exists());
}

#[test]
fn directory_that_becomes_a_link_is_not_followed() {
    let (home, directory) = home();
    let work = home.path().join("work");
    // The agent exchanges a directory that was checked for a link to another one.
    fs::rename(work.join("sub"), work.join("before")).unwrap();
    fs::create_dir(home.path().join("deep")).unwrap();
    fs::write(home.path().join("deep/report"), "secret").unwrap();
    symlink(home.path(), work.join("sub")).unwrap();
    problem_of(directory.open_file("sub/deep/report"));
}

#[test]
fn only_regular_files_are_opened() {
    let (home, directory) = home();
    let work = home.path().join("work");
    mknodat(CWD, work.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = UnixListener::bind(work.join("socket")).unwrap();
    for (given, expected) in [
        ("sub", "a directory"),
        ("fifo", "a FIFO"),
        ("socket", "a device"),
        ("none", "does not exist"),
        ("sub/none/report", "does not exist"),
        ("sub/deep/report/x", "no directory"),
    ] {
        let problem = problem_of(directory.open_file(given));
        assert!(problem.contains(expected), "{given}: {problem}");
    }
}

#[test]
fn file_over_limit_is_refused_before_it_is_read() {
    let (home, directory) = home();
    let path = home.path().join("work/large");
    let file = File::create(path).unwrap();
    file.set_len(MAX_ARTIFACT_BYTES).unwrap();
    directory.open_file("large").unwrap();
    file.set_len(MAX_ARTIFACT_BYTES + 1).unwrap();
    match directory.open_file("large") {
        Err(Error::TooLarge { size }) => assert_eq!(size, MAX_ARTIFACT_BYTES + 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn file_is_found_by_relative_and_absolute_path() {
    let (home, _) = home();
    let link = home.path().join("link");
    symlink(home.path().join("work"), &link).unwrap();
    // The path of the directory itself may lead through links.
    let directory = WorkingDirectory::open(&link).unwrap();
    let through_link = link.join("sub/deep/report");
    let canonical = link.canonicalize().unwrap().join("sub/deep/report");
    for given in [
        "sub/deep/report",
        "./sub//deep/./report",
        through_link.to_str().unwrap(),
        canonical.to_str().unwrap(),
    ] {
        let source = directory.open_file(given).unwrap();
        let content = io::read_to_string(source.reader()).unwrap();
        assert_eq!(content, "report", "{given}");
    }
    let missing = WorkingDirectory::open(&home.path().join("none"));
    assert!(problem_of(missing).contains("working directory"));
}

#[test]
fn existing_file_with_other_content_is_never_overwritten() {
    let (home, directory) = home();
    let content = ContentFolder::new(home.path().join("artifacts"));
    let stored = content.store_text(TENANT, "report").unwrap();
    let open = || content.open(TENANT, stored.sha256, stored.size).unwrap();
    let work = home.path().join("work");
    directory.write_new("sub/copy", open()).unwrap();
    assert_eq!(fs::read(work.join("sub/copy")).unwrap(), b"report");
    // The same content is there already.
    directory.write_new("sub/copy", open()).unwrap();
    directory.write_new("sub/deep/report", open()).unwrap();
    for other in ["retort", "report and more", "", "rep"] {
        fs::write(work.join("other"), other).unwrap();
        let refused = directory.write_new("other", open());
        assert!(matches!(refused, Err(Error::Exists { path }) if path == "other"));
        assert_eq!(fs::read(work.join("other")).unwrap(), other.as_bytes());
    }
    for given in ["sub", "../copy", "none/copy"] {
        problem_of(directory.write_new(given, open()));
    }
}

#[test]
fn file_that_changes_while_it_is_read_in_pieces_is_refused() {
    let (home, directory) = home();
    let path = home.path().join("work/log");
    for (before, after) in [("one line", "one line, and more"), ("one line", "one")] {
        fs::write(&path, before).unwrap();
        let mut source = directory.open_file("log").unwrap();
        assert_eq!(source.read_next(3).unwrap().unwrap(), b"one");
        fs::write(&path, after).unwrap();
        let end = loop {
            match source.read_next(3) {
                Ok(Some(_)) => {}
                end => break end,
            }
        };
        assert!(matches!(end, Err(Error::Changed { path }) if path == "log"));
    }
    fs::write(&path, "one line").unwrap();
    let mut source = directory.open_file("log").unwrap();
    let mut read = Vec::new();
    while let Some(bytes) = source.read_next(3).unwrap() {
        read.extend(bytes);
    }
    assert_eq!((read.as_slice(), source.size()), (&b"one line"[..], 8));
}

#[test]
fn content_from_another_machine_is_written_only_if_it_is_the_expected_one() {
    let (home, directory) = home();
    let folder = ContentFolder::new(home.path().join("artifacts"));
    let stored = folder.store_text(TENANT, "report").unwrap();
    let (hash, size) = (stored.sha256, stored.size);
    for wrong in ["repor", "retort", "reports", ""] {
        let received = VerifiedContent::receive(hash, size, wrong.as_bytes());
        assert_eq!(received.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
    let received = VerifiedContent::receive(hash, size, &b"report"[..]).unwrap();
    directory.write_new("received", received).unwrap();
    let written = fs::read(home.path().join("work/received")).unwrap();
    assert_eq!(written, b"report");
}
