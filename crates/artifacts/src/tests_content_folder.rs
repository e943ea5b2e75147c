use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use model::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::WorkingDirectory;

const TENANT: TenantId = TenantId::from_uuid(Uuid::from_u128(1));
const OTHER: TenantId = TenantId::from_uuid(Uuid::from_u128(2));

struct World {
    home: TempDir,
    folder: ContentFolder,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let folder = ContentFolder::new(home.path().join("artifacts"));
        Self { home, folder }
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Returns a file of the working directory, open as the store reads it.
    fn source(&self, name: &str, content: &[u8]) -> SourceFile {
        fs::write(self.work().join(name), content).unwrap();
        let directory = WorkingDirectory::open(&self.work()).unwrap();
        directory.open_file(name).unwrap()
    }

    fn path_of(&self, hash: ContentHash) -> PathBuf {
        self.folder.tenant_path(TENANT).join(hash.to_string())
    }

    /// The names below the folder of a tenant.
    fn names(&self) -> Vec<String> {
        names(&self.folder.tenant_path(TENANT))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name();
        name.into_string().unwrap()
    });
    entries.collect()
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

fn timestamp(at: SystemTime) -> Timestamp {
    let micros = at.duration_since(UNIX_EPOCH).unwrap().as_micros();
    Timestamp::from_microsecond(i64::try_from(micros).unwrap()).unwrap()
}

#[test]
fn file_that_changes_while_it_is_read_is_a_conflict() {
    let world = World::new();
    let path = world.work().join("report");
    let grown = world.source("report", b"one");
    fs::write(&path, "one and two").unwrap();
    let cut = world.source("report", b"one");
    fs::write(&path, "on").unwrap();
    let rewritten = world.source("report", b"one");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified(&path) + Duration::from_secs(5))
        .unwrap();
    for source in [grown, cut, rewritten] {
        let stored = world.folder.store_file(TENANT, &source);
        assert!(matches!(stored, Err(Error::Changed { path }) if path == "report"));
    }
    assert!(world.names().is_empty(), "nothing is left");
    // Another file in its place is not the open one, whose content is whole.
    let replaced = world.source("report", b"one");
    fs::write(world.work().join("other"), "two").unwrap();
    fs::rename(world.work().join("other"), &path).unwrap();
    let stored = world.folder.store_file(TENANT, &replaced).unwrap();
    assert_eq!(fs::read(world.path_of(stored.sha256)).unwrap(), b"one");
}

#[test]
fn content_over_limit_is_refused_while_it_is_read() {
    let world = World::new();
    // A file of the highest size passes, and one that grows beyond it does not.
    let source = world.source("large", b"");
    let file = File::options()
        .write(true)
        .open(world.work().join("large"))
        .unwrap();
    file.set_len(MAX_ARTIFACT_BYTES + 1).unwrap();
    let stored = world.folder.store_file(TENANT, &source);
    assert!(matches!(stored, Err(Error::TooLarge { .. })), "{stored:?}");
    assert!(world.names().is_empty());
}

#[test]
fn missing_or_damaged_content_is_not_returned() {
    let world = World::new();
    let stored = world.folder.store_text(TENANT, "report").unwrap();
    let (hash, size) = (stored.sha256, stored.size);
    // The hash is that of `sha256sum`.
    let expected = "845e91831319e89c4d656bdb80c278ac09a7230d61e5dfd2e1b1fbb436ac8917";
    assert_eq!(hash.to_string(), expected);
    let read = |tenant, size| {
        let opened = world.folder.open(tenant, hash, size)?;
        Ok::<_, Error>(io::read_to_string(opened.file).unwrap())
    };
    assert_eq!(read(TENANT, size).unwrap(), "report");
    let problem_of = |read: Result<String, Error>| match read {
        Err(Error::Damaged { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem_of(read(OTHER, size)), "missing");
    assert_eq!(problem_of(read(TENANT, size + 1)), "damaged");
    let path = world.path_of(hash);
    fs::write(&path, "retort").unwrap();
    assert_eq!(problem_of(read(TENANT, size)), "damaged");
    // A link is not followed, whatever it leads to.
    fs::write(world.home.path().join("copy"), "report").unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(world.home.path().join("copy"), &path).unwrap();
    assert!(matches!(read(TENANT, size), Err(Error::Folder { .. })));
    // Storing the content again repairs it.
    world.folder.store_text(TENANT, "report").unwrap();
    assert_eq!(read(TENANT, size).unwrap(), "report");
}

#[test]
fn contents_are_readable_by_owner_only() {
    let world = World::new();
    let stored = world.folder.store_text(TENANT, "report").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = world.home.path().join("artifacts");
    assert_eq!(mode(&world.path_of(stored.sha256)), 0o600);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&world.folder.tenant_path(TENANT)), 0o700);
    assert_eq!(mode(&folder.join("lock")), 0o600);
}

#[test]
fn sweep_waits_for_contents_without_a_row() {
    let world = World::new();
    assert!(world.folder.begin_sweep().unwrap().is_none(), "no folder");
    let stored = world.folder.store_text(TENANT, "report").unwrap();
    let hash = stored.sha256;
    // The row may not be committed yet.
    assert!(world.folder.begin_sweep().unwrap().is_none());
    drop(stored);
    let sweep = world.folder.begin_sweep().unwrap().unwrap();
    assert!(world.folder.begin_sweep().unwrap().is_none(), "one sweep");
    let now = modified(&world.folder.tenant_path(TENANT));
    let young = sweep.contents_before(timestamp(now - Duration::from_mins(1)));
    assert!(young.unwrap().is_empty());
    let old = sweep.contents_before(timestamp(now + Duration::from_mins(1)));
    assert_eq!(old.unwrap(), [(TENANT, vec![hash])]);
    sweep.remove(TENANT, &[hash]).unwrap();
    sweep.remove(TENANT, &[hash]).unwrap();
    assert!(world.names().is_empty());
}

#[test]
fn sweep_removes_interrupted_stores_and_no_other_file() {
    let world = World::new();
    drop(world.folder.store_text(TENANT, "report").unwrap());
    let folder = world.folder.tenant_path(TENANT);
    fs::write(folder.join("incoming-a1b2c3"), "rep").unwrap();
    fs::write(folder.join("notes"), "of a person").unwrap();
    fs::create_dir(world.home.path().join("artifacts/backup")).unwrap();
    let sweep = world.folder.begin_sweep().unwrap().unwrap();
    let now = modified(&world.folder.tenant_path(TENANT));
    let before = timestamp(now - Duration::from_mins(1));
    sweep.contents_before(before).unwrap();
    assert_eq!(world.names().len(), 3, "all are young");
    let after = timestamp(now + Duration::from_mins(1));
    assert_eq!(sweep.contents_before(after).unwrap().len(), 1);
    let mut left = world.names();
    left.sort();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left[1], "notes");
}

#[test]
fn received_content_of_another_size_is_not_kept() {
    let world = World::new();
    for size in [0, 5, 7] {
        let refused = world
            .folder
            .store_received(TENANT, "report", size, &b"report"[..]);
        assert!(matches!(refused, Err(Error::Changed { path }) if path == "report"));
    }
    assert!(world.names().is_empty());
    let stored = world
        .folder
        .store_received(TENANT, "report", 6, &b"report"[..])
        .unwrap();
    assert_eq!(fs::read(world.path_of(stored.sha256)).unwrap(), b"report");
}
