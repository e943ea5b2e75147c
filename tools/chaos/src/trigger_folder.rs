//! The trigger folder of an instance, on a small disk of its own where the machine permits that.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// Mounts the small disk in a name space of its own, whose process keeps it. Other processes reach the disk by the path
/// of that process in `/proc`.
const MOUNT: &str =
    "mount -t tmpfs -o size=8m,mode=0700 tmpfs \"$1\" && echo ready && exec sleep infinity";
/// The options of `unshare` that may work: as any user, and as root without user name spaces.
const NAME_SPACES: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];
/// The maximum time to mount the disk.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(10);
/// The file that fills the disk. No runtime reads a hidden file.
const FILLER: &str = ".filler";
/// The size of each write that fills the disk.
const FILL_BLOCK_BYTES: usize = 64 * 1024;
/// The beginning of the name of each file that another program has written.
pub(crate) const FOREIGN_PREFIX: &str = "drop-";
/// The part of the name of each file that a server has written.
const RUN_MARK: &str = "-run_";

/// A trigger folder.
#[derive(Debug)]
pub(crate) struct TriggerFolder {
    path: PathBuf,
    /// The process that keeps the disk. `None` if the folder is on the disk of the test.
    disk: Option<Child>,
}

impl TriggerFolder {
    /// Creates a folder below `root`.
    pub(crate) async fn create(root: &Path, number: usize) -> Result<Self> {
        let path = root.join(format!("triggers-{number}"));
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        for options in NAME_SPACES {
            if let Some((disk, pid)) = mount(&path, options).await {
                let inside = path.strip_prefix("/")?;
                return Ok(Self {
                    path: PathBuf::from(format!("/proc/{pid}/root")).join(inside),
                    disk: Some(disk),
                });
            }
        }
        println!("This machine permits no small disk: no disk will be full.");
        Ok(Self { path, disk: None })
    }

    /// Returns the path for servers and runtimes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `true` if the folder has a disk of its own, which the test may fill.
    pub(crate) fn has_own_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Returns the names of the files that a runtime may read.
    pub(crate) fn waiting_files(&self) -> Result<Vec<String>> {
        let names = names_in(&self.path)?.into_iter();
        Ok(names
            .filter(|name| name.strip_suffix(".json").is_some() && !name.starts_with('.'))
            .collect())
    }

    /// Returns the names of the waiting files that a server has written.
    pub(crate) fn delivered_files(&self) -> Result<Vec<String>> {
        let waiting = self.waiting_files()?.into_iter();
        Ok(waiting.filter(|name| name.contains(RUN_MARK)).collect())
    }

    /// Returns the names of the waiting files that another program has written.
    pub(crate) fn foreign_files(&self) -> Result<Vec<String>> {
        let waiting = self.waiting_files()?.into_iter();
        Ok(waiting
            .filter(|name| name.starts_with(FOREIGN_PREFIX))
            .collect())
    }

    /// Returns the files that the runtime has rejected and their reasons, by name, with their content.
    pub(crate) fn rejected_files(&self) -> Result<BTreeMap<String, String>> {
        let failed = self.path.join("failed");
        let names = match names_in(&failed) {
            Err(error) if is_missing(&error) => Vec::new(),
            names => names?,
        };
        let read = |name: String| {
            let content = fs::read(failed.join(&name))?;
            Ok((name, String::from_utf8_lossy(&content).into_owned()))
        };
        names.into_iter().map(read).collect()
    }

    /// Reads a file. Returns `None` if it is no longer there.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path.join(name)).ok()
    }

    /// Writes a file under a hidden name, and renames it.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let draft = self.path.join(format!(".{name}"));
        let written = fs::write(&draft, content);
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written.and_then(|()| fs::rename(&draft, self.path.join(name)))
    }

    /// Opens a new file, for a program that writes it in place.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        File::create_new(self.path.join(name))
    }

    /// Fills the disk. Returns `false` if it is not full afterwards.
    pub(crate) fn fill(&self) -> bool {
        let filler = File::create(self.path.join(FILLER));
        let block = vec![0; FILL_BLOCK_BYTES];
        let filled = filler.and_then(|mut filler| {
            loop {
                filler.write_all(&block)?;
            }
        });
        matches!(filled, Err::<(), _>(error) if error.kind() == io::ErrorKind::StorageFull)
    }

    /// Frees the disk.
    pub(crate) fn free(&self) -> io::Result<()> {
        fs::remove_file(self.path.join(FILLER))
    }
}

/// Mounts a small disk at a path. Returns the process that keeps it, or `None` if the machine does not permit that.
async fn mount(path: &Path, options: &[&str]) -> Option<(Child, u32)> {
    let mut child = Command::new("unshare")
        .args(options)
        .args(["sh", "-c", MOUNT, "sh"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut lines = BufReader::new(child.stdout.take()?).lines();
    let first = timeout(MOUNT_TIMEOUT, lines.next_line()).await.ok()?.ok()?;
    let pid = child.id().filter(|_| first.as_deref() == Some("ready"))?;
    Some((child, pid))
}

fn names_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let name = entry?.file_name();
        names.push(OsStr::to_string_lossy(&name).into_owned());
    }
    names.sort();
    Ok(names)
}

fn is_missing(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound)
}
