//! Liveness of the workers of one instance, by file locks.
//!
//! Each worker holds the lock on a file of its own in the instance's folder. The kernel releases the lock when the
//! process ends, in whatever way. So neither a reused process ID nor another machine or container of the same name
//! can be mistaken for the worker, as it could with a PID file.
//!
//! Some network volumes do not share locks between machines. So the file names the machine of its worker, and a free lock
//! proves a death on this machine alone. A worker of another machine is given up when its heartbeat is stale.

use std::{
    collections::HashSet,
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::WorkerId;

use crate::{guard, worker_host::WorkerHost};

/// The longest content of a lock file that is read.
const MAX_CONTENT_BYTES: u64 = 4096;
/// The age, in seconds before the start of this worker, from which the file of a worker of another machine is removed. Its
/// heartbeat is long stale by then.
const ABANDONED_AGE_SECONDS: i64 = 24 * 60 * 60;

/// The lock that proves that a worker lives, for as long as this value is kept.
#[derive(Debug)]
pub struct WorkerLock {
    folder: PathBuf,
    path: PathBuf,
    /// The value that identifies this worker in the environment of its agents' processes.
    mark: String,
    /// The machine of this worker.
    host: WorkerHost,
    /// Files of dead workers whose leftover processes have been killed.
    swept_files: Mutex<HashSet<PathBuf>>,
    _lock: File,
}

impl WorkerLock {
    /// Takes the lock for a worker, in the folder that all workers of the instance share. Creates the folder if
    /// needed. The caller must do this before the worker claims a run, because other workers treat a worker without a
    /// lock file as unknown.
    pub fn acquire(folder: &Path, worker: &WorkerId) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = lock_path(folder, worker);
        let host = WorkerHost::current();
        loop {
            let mut lock = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            lock.lock()?;
            let locked_file = lock.metadata()?;
            // Another worker's `remove_stale_files` may have removed the file after it was opened and before it was
            // locked. A lock on a removed file proves nothing, so retry with a new file.
            if fs::metadata(&path)
                .is_ok_and(|file| file_identity(&file) == file_identity(&locked_file))
            {
                lock.set_len(0)?;
                lock.write_all(host.to_text().as_bytes())?;
                return Ok(Self {
                    folder: folder.to_owned(),
                    path,
                    mark: format!("{worker}@{}", file_identity(&locked_file)),
                    host,
                    swept_files: Mutex::default(),
                    _lock: lock,
                });
            }
        }
    }

    /// Returns the mark that processes started by this worker carry: the worker's name, and the device and inode
    /// number of its lock file. In a copy of the data folder the lock file has another inode, and no process holds
    /// its lock although the worker lives; because the numbers differ, a server on the copy does not kill the
    /// processes of this worker.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// `true` if another worker of the instance is known to be dead. Returns `false` if that worker has no lock file,
    /// because it may belong to another folder or an older version, or if it runs on another machine; the watchdog then
    /// waits for its heartbeat to become stale.
    pub fn is_dead(&self, other: &WorkerId) -> bool {
        let path = lock_path(&self.folder, other);
        path != self.path && self.finds_dead(&path)
    }

    fn finds_dead(&self, path: &Path) -> bool {
        judge(path, &self.host) == Judgement::Dead
    }

    /// Kills the processes that dead workers of the instance have left because their guards were killed as well.
    /// Returns the lock files of the dead workers.
    ///
    /// The caller must do this before each claim: another server may have given up the runs of a dead worker long
    /// ago, so that no run leads to the processes any more, and the next turn would run beside them. If no worker has
    /// died since the last call, this costs one listing of the folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read, or if processes cannot be found or killed.
    pub async fn kill_leftovers(&self) -> io::Result<Vec<PathBuf>> {
        let mut dead = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path != self.path && self.finds_dead(&path) {
                dead.push(path);
            }
        }
        // Skip the scan of all processes if it would find nothing new: a claim happens far more often than a death.
        let is_swept = |path| self.swept_files().contains(path);
        if dead.iter().all(is_swept) {
            return Ok(dead);
        }
        let (folder, own_path) = (self.folder.clone(), self.path.clone());
        let host = self.host.clone();
        // The sweep reads `/proc` and waits for the killed processes to end, so it must not block the runtime.
        let swept = tokio::task::spawn_blocking(move || {
            guard::sweep_workers(|mark| is_mark_of_dead_worker(&folder, (&own_path, &host), mark))
        });
        let killed = swept.await.map_err(io::Error::other).flatten()?;
        if killed > 0 {
            tracing::warn!(killed, "killed {killed} leftover processes of dead workers");
        }
        // Only after success, so that a failed sweep is repeated by the next claim.
        self.swept_files().extend(dead.iter().cloned());
        Ok(dead)
    }

    /// Returns the workers of the instance that are known to be dead, by the names of their lock files.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read.
    pub fn dead_workers(&self) -> io::Result<Vec<WorkerId>> {
        let mut dead = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.and_then(|name| name.strip_suffix(".lock"));
            if let Some(name) = name
                && path != self.path
                && self.finds_dead(&path)
            {
                dead.push(WorkerId::from_stored(name.to_owned()));
            }
        }
        Ok(dead)
    }

    /// Removes the lock files of dead workers once their processes are killed, except for the workers in `with_runs`.
    /// The file outlives its worker so that other workers can see its death at once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::kill_leftovers`].
    pub async fn remove_stale_files(&self, with_runs: &[WorkerId]) -> io::Result<()> {
        let needed: Vec<_> = with_runs
            .iter()
            .map(|worker| lock_path(&self.folder, worker))
            .collect();
        for path in self.kill_leftovers().await? {
            if !needed.contains(&path) {
                fs::remove_file(&path).ok();
                self.swept_files().remove(&path);
            }
        }
        self.remove_abandoned_files()
    }

    /// Removes the lock files of workers of other machines that were started long before this one. Such a worker may be
    /// alive, but its file does not show that here.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read.
    pub fn remove_abandoned_files(&self) -> io::Result<()> {
        let started = fs::metadata(&self.path)?.mtime();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let modified = entry.metadata().map(|file| file.mtime());
            let is_old =
                modified.is_ok_and(|at| started.saturating_sub(at) > ABANDONED_AGE_SECONDS);
            if is_old && judge(&entry.path(), &self.host) == Judgement::Unknown {
                fs::remove_file(entry.path()).ok();
            }
        }
        Ok(())
    }

    fn swept_files(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.swept_files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// `true` if a process with this mark was started by a dead worker of `folder`. `own` is the lock file of the calling
/// worker, whose processes never count, and `host` its machine.
fn is_mark_of_dead_worker(folder: &Path, (own, host): (&Path, &WorkerHost), mark: &str) -> bool {
    let Some((worker, sign)) = mark.rsplit_once('@') else {
        return false;
    };
    let path = lock_path(folder, &WorkerId::from_stored(worker.to_owned()));
    path != own
        && fs::metadata(&path).is_ok_and(|file| file_identity(&file) == sign)
        && judge(&path, host) == Judgement::Dead
}

/// `true` if a worker with a lock file in `folder` is dead. For callers that hold no [`WorkerLock`] themselves.
pub fn is_worker_dead(folder: &Path, worker: &WorkerId) -> bool {
    judge(&lock_path(folder, worker), &WorkerHost::current()) == Judgement::Dead
}

/// The life of a worker, as far as its lock file shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    /// The worker lives, or its file cannot be read.
    Alive,
    /// The worker is dead.
    Dead,
    /// The lock is free, but the worker ran on another machine, whose locks may not be seen here.
    Unknown,
}

/// Judges by a lock file whether its worker lives. `host` is the machine of this process.
fn judge(path: &Path, host: &WorkerHost) -> Judgement {
    // The lock belongs to the open file, so it is released when this function returns.
    let Ok(file) = File::open(path) else {
        return Judgement::Alive;
    };
    // The lock is shared, so that two processes that check at once do not each take the other for the worker.
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Judgement::Alive,
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, "cannot check whether `{}` is locked", path.display());
            return Judgement::Alive;
        }
    }
    let mut content = Vec::new();
    if let Err(error) = (&file).take(MAX_CONTENT_BYTES).read_to_end(&mut content) {
        tracing::warn!(%error, "cannot read `{}`", path.display());
        return Judgement::Alive;
    }
    if host.sees_death_on(&WorkerHost::parse(&String::from_utf8_lossy(&content))) {
        Judgement::Dead
    } else {
        Judgement::Unknown
    }
}

/// Returns the device and inode number of a file, which stay the same if the file is renamed.
fn file_identity(file: &Metadata) -> String {
    format!("{}:{}", file.dev(), file.ino())
}

/// Returns the path of a worker's lock file. Replaces unusual characters, because worker IDs contain the host's name,
/// which could otherwise lead out of the folder.
fn lock_path(folder: &Path, worker: &WorkerId) -> PathBuf {
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' => letter,
        _ => '_',
    };
    let name: String = worker.as_str().chars().map(plain).collect();
    folder.join(format!("{name}.lock"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::unix::process::ExitStatusExt as _,
        process::Stdio,
    };

    use super::*;

    fn worker(name: &str) -> WorkerId {
        WorkerId::from_stored(name.into())
    }

    #[tokio::test]
    async fn worker_counts_as_dead_only_if_its_lock_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let give = |name: &str| WorkerLock::acquire(folder.path(), &worker(name)).unwrap();
        let own = give("host-1-00000001");
        let other = give("host-1-00000002");
        assert!(!own.is_dead(&worker("host-1-00000001")), "itself");
        assert!(!own.is_dead(&worker("host-1-00000002")), "it lives");
        assert!(!own.is_dead(&worker("host-1-00000003")), "it has no file");
        // In whatever way a process ends, its file stays and its lock is released.
        let path = other.path.clone();
        drop(other);
        assert!(own.is_dead(&worker("host-1-00000002")));
        let dead = own.dead_workers().unwrap();
        assert_eq!(dead, [worker("host-1-00000002")]);
        own.remove_stale_files(&[worker("host-1-00000002")])
            .await
            .unwrap();
        assert!(path.exists(), "it still has runs");
        own.remove_stale_files(&[]).await.unwrap();
        assert!(!path.exists());
        assert!(own.path.exists());
    }

    #[tokio::test]
    async fn worker_of_other_machine_is_left_to_watchdog_although_its_lock_looks_free() {
        let folder = tempfile::tempdir().unwrap();
        let own = WorkerLock::acquire(folder.path(), &worker("host-1-00000001")).unwrap();
        let other = worker("pod-1-00000002");
        let path = WorkerLock::acquire(folder.path(), &other).unwrap().path;
        let own_content = fs::read_to_string(&path).unwrap();
        assert!(own_content.starts_with("boot="), "{own_content}");
        assert!(own.is_dead(&other), "it ran here");
        // A volume without shared locks: the lock of the live worker looks free here.
        fs::write(
            &path,
            "boot=0a0a0a0a-0000-4000-8000-000000000000\nmachine=0b0b\n",
        )
        .unwrap();
        assert!(!own.is_dead(&other));
        assert!(!is_worker_dead(folder.path(), &other));
        assert_eq!(own.dead_workers().unwrap(), []);
        assert_eq!(
            own.kill_leftovers().await.unwrap(),
            [""; 0].map(PathBuf::from)
        );
        own.remove_stale_files(&[]).await.unwrap();
        assert!(path.exists());
        // Nothing reports the file later, so that it is removed when the heartbeat of its worker is long stale.
        let started = fs::metadata(&own.path).unwrap().modified().unwrap();
        let long_ago = started - std::time::Duration::from_hours(48);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        own.remove_abandoned_files().unwrap();
        assert!(!path.exists());
        assert!(own.path.exists());
    }

    /// A process that a worker has started, and that lives until its input ends.
    struct ChildProcess(std::process::Child);

    impl ChildProcess {
        fn start(sign: &WorkerLock) -> Self {
            let mut command = std::process::Command::new("cat");
            command.env("MATINS_RUN_WORKER", sign.mark());
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut started = Self(command.spawn().unwrap());
            // The child counts as spawned when its exec has begun. Until the exec is done, the child still holds this
            // process's locks and shows no environment.
            assert!(started.is_alive());
            started
        }

        fn is_alive(&mut self) -> bool {
            let said = self.0.stdin.as_mut().unwrap().write_all(b"?");
            let mut answer = [0];
            let heard = self.0.stdout.as_mut().unwrap().read(&mut answer);
            said.is_ok() && heard.is_ok_and(|length| length == 1)
        }

        /// Returns the signal that killed the process. Waits for it, because the memory is released a moment before the
        /// end is reported.
        fn wait_for_signal(&mut self) -> Option<i32> {
            self.0.wait().unwrap().signal()
        }
    }

    impl Drop for ChildProcess {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    #[tokio::test]
    async fn leftover_processes_of_dead_worker_are_killed() {
        let folder = tempfile::tempdir().unwrap();
        let give = |name: &str| WorkerLock::acquire(folder.path(), &worker(name)).unwrap();
        let [own, alive, gone] =
            ["host-1-00000001", "host-1-00000002", "host-1-00000003"].map(give);
        let [mut of_own, mut of_alive, mut of_gone] =
            [&own, &alive, &gone].map(ChildProcess::start);
        drop(gone);
        own.kill_leftovers().await.unwrap();
        assert!(of_own.is_alive() && of_alive.is_alive());
        assert!(!of_gone.is_alive());
        assert_eq!(of_gone.wait_for_signal(), Some(9));
        // The processes of a worker that dies later are killed as well, at the latest before its lock file is removed.
        drop(alive);
        own.remove_stale_files(&[]).await.unwrap();
        assert!(of_own.is_alive());
        assert!(!of_alive.is_alive());
        assert_eq!(of_alive.wait_for_signal(), Some(9));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn copied_data_folder_does_not_kill_processes_of_live_worker() {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let lives = WorkerLock::acquire(folder.path(), &worker("host-1-00000001")).unwrap();
        let mut started = ChildProcess::start(&lives);
        let name = lives.path.file_name().unwrap();
        fs::copy(&lives.path, copy.path().join(name)).unwrap();
        let other = WorkerLock::acquire(copy.path(), &worker("host-1-00000002")).unwrap();
        other.remove_stale_files(&[]).await.unwrap();
        assert!(started.is_alive());
    }

    #[test]
    fn lock_path_with_unusual_worker_name_stays_in_folder() {
        let path = lock_path(Path::new("/workers"), &worker("../a/b-1-00000001"));
        assert_eq!(path, Path::new("/workers/.._a_b-1-00000001.lock"));
    }
}
