//! A trigger folder in a temporary one.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use delivery::TriggerName;
use tempfile::TempDir;
use trigger_folder::{DirectoryDelivery, FileName, ReadOutcome, TriggerFolder, WaitingFile};

/// A trigger folder, with its writer and its reader.
pub(crate) struct Stage {
    _home: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) writer: DirectoryDelivery,
    pub(crate) reader: TriggerFolder,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("triggers");
        fs::create_dir(&path).unwrap();
        set_mode(&path, 0o755);
        Self {
            writer: DirectoryDelivery::new(&path),
            reader: TriggerFolder::new(&path),
            path,
            _home: home,
        }
    }

    /// Returns a path beside the folder.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path.join(name), content).unwrap();
    }

    /// Returns the names of everything in the folder, in order.
    pub(crate) fn list(&self) -> Vec<String> {
        list(&self.path)
    }

    pub(crate) async fn read(&self, name: &str) -> ReadOutcome {
        self.reader.read(file_name(name)).await.unwrap()
    }

    pub(crate) async fn read_file(&self, name: &str) -> WaitingFile {
        match self.read(name).await {
            ReadOutcome::Read(file) => file,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn list(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn file_name(name: &str) -> FileName {
    FileName::from_bytes(name.as_bytes()).unwrap()
}

/// Returns the name of the file of a run, a number of seconds after 1970.
pub(crate) fn trigger_name(second: i64) -> TriggerName {
    let at = model::Timestamp::from_microsecond(second * 1_000_000).unwrap();
    let run = "run_0198c0de00007000800000000000000a".parse().unwrap();
    TriggerName::new(at, run).unwrap()
}
