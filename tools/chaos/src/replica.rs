//! A replica: a real server process that a supervisor task keeps running. Faults kill, freeze or stop the process,
//! and the supervisor starts it again while the replica is wanted.

use std::{
    fs::{self, OpenOptions},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use rustix::process::Signal;
use tokio::{
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{processes, programs::Programs};

/// The interval between two heartbeats of a run, in seconds.
const HEARTBEAT_SECONDS: &str = "1";
/// The age at which a heartbeat is stale, in seconds.
const STALE_HEARTBEAT_SECONDS: &str = "6";
/// The polling interval of the watchdog and the scheduler, in seconds.
const POLL_SECONDS: &str = "1";
/// The time for which a stopping server lets its turns continue, in seconds.
const STOP_SECONDS: &str = "2";
/// A time longer than [`STALE_HEARTBEAT_SECONDS`] and than a lease, which is three quarters of that. After it, the
/// other servers have given up the runs of a frozen server.
pub(crate) const BEYOND_LEASE: Duration = Duration::from_secs(8);
/// The maximum number of concurrent turns of one server.
const MAX_WORKERS: &str = "6";
/// The interval at which the supervisor checks whether the server has ended.
const SUPERVISE_INTERVAL: Duration = Duration::from_millis(200);
/// The pause before the restart of a server that ended by itself.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// The maximum time for a server's graceful stop. After it, the server is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The variable with a secret that servers pass to agents. The secret must appear in no log, row or prompt.
pub(crate) const CANARY_VARIABLE: &str = "CHAOS_CANARY";

/// The parameters of a server's start.
#[derive(Debug, Clone)]
pub(crate) struct ReplicaConfig {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) address: SocketAddr,
    /// The database's URL, password included.
    pub(crate) database: String,
    /// The secret in [`CANARY_VARIABLE`].
    pub(crate) canary: String,
    /// The path of `libfaketime` and its offset, if the server's clock is wrong.
    pub(crate) faketime: Option<(PathBuf, String)>,
}

/// A supervised server. The process is killed when the value is dropped.
pub(crate) struct Replica {
    pub(crate) config: ReplicaConfig,
    state: Arc<Mutex<State>>,
    supervisor: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    child: Option<Child>,
    /// `true` if the supervisor may start the server.
    wanted: bool,
    /// The number of starts so far.
    starts: usize,
    /// The number of ends that no fault caused.
    unexpected_ends: u32,
}

impl ReplicaConfig {
    /// Creates the folder of a server below `root` and selects a free address.
    pub(crate) fn new(root: &Path, number: usize, database: String, canary: &str) -> Result<Self> {
        let folder = root.join(format!("replica-{number}"));
        fs::create_dir(&folder)?;
        // The port is free now, but another process may take it before the server starts. The server then ends with
        // an error, and the supervisor starts it again.
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        Ok(Self {
            number,
            log: root.join(format!("replica-{number}.log")),
            folder,
            address,
            database,
            canary: canary.to_owned(),
            faketime: None,
        })
    }

    /// Starts the server process with the program `matins`. It appends to the log of earlier starts.
    fn start(&self, matins: &Path) -> Result<Child> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut command = Command::new(matins);
        command
            .args(["--data".as_ref(), self.folder.as_os_str()])
            .args(["serve", "--listen", &self.address.to_string()])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env(CANARY_VARIABLE, &self.canary)
            // Pass the URL in the environment, because any user can read the arguments of a process, and the URL has
            // the password.
            .env("MATINS_DATABASE", &self.database)
            .env("MATINS_HEARTBEAT_SECONDS", HEARTBEAT_SECONDS)
            .env("MATINS_HEARTBEAT_STALE", STALE_HEARTBEAT_SECONDS)
            .env("MATINS_WATCHDOG_SECONDS", POLL_SECONDS)
            .env("MATINS_TICK_SECONDS", POLL_SECONDS)
            .env("MATINS_STOP_SECONDS", STOP_SECONDS)
            .env("MATINS_WORKERS", MAX_WORKERS)
            .env("MATINS_LOG", "info,sqlx=warn");
        if let Some((library, offset)) = &self.faketime {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME", offset)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A process group of its own keeps Ctrl-C in the terminal from interrupting the server.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().context("cannot start a server")
    }
}

impl Replica {
    /// Starts the supervisor, which starts the server and restarts it whenever it ends.
    pub(crate) fn start(plan: ReplicaConfig, programs: &Arc<Programs>) -> Self {
        let state = Arc::new(Mutex::new(State {
            wanted: true,
            ..State::default()
        }));
        let keeper = tokio::spawn(supervise(
            plan.clone(),
            Arc::clone(programs),
            Arc::clone(&state),
        ));
        Self {
            config: plan,
            state,
            supervisor: keeper,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the process ID. Returns `None` if the server is not running.
    pub(crate) fn pid(&self) -> Option<i32> {
        let state = self.state();
        let pid = state.child.as_ref().and_then(Child::id)?;
        pid.try_into().ok()
    }

    /// Sends a signal to the server. Returns `false` if the server is not running.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.pid().is_some_and(|pid| processes::signal(pid, signal))
    }

    /// Sets whether the supervisor may start the server.
    pub(crate) fn set_wanted(&self, wanted: bool) {
        self.state().wanted = wanted;
    }

    /// Returns how often the server ended without a fault that stopped it.
    pub(crate) fn unexpected_ends(&self) -> u32 {
        self.state().unexpected_ends
    }

    /// Kills the server. The supervisor does not restart it until [`Self::set_wanted`] allows that.
    pub(crate) async fn kill(&self) {
        // Take the child and clear `wanted` under one lock. Otherwise, the supervisor could count the end as one by
        // itself, or restart the server at once.
        let child = {
            let mut state = self.state();
            state.wanted = false;
            state.child.take()
        };
        if let Some(mut child) = child {
            child.kill().await.ok();
        }
    }

    /// Stops the server with SIGTERM, or kills it after [`STOP_TIMEOUT`]. The supervisor does not restart it until
    /// [`Self::set_wanted`] allows that. Returns `true` if the server ended in time or was not running.
    pub(crate) async fn stop(&self) -> bool {
        let child = {
            let mut state = self.state();
            state.wanted = false;
            state.child.take()
        };
        let Some(mut child) = child else {
            return true;
        };
        if let Some(pid) = child.id().and_then(|pid| pid.try_into().ok()) {
            processes::signal(pid, Signal::TERM);
        }
        let ended = timeout(STOP_TIMEOUT, child.wait()).await.is_ok();
        if !ended {
            child.kill().await.ok();
        }
        ended
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.supervisor.abort();
        // Dropping the child sends SIGKILL (`kill_on_drop`), which also ends a process that SIGSTOP has frozen.
        self.state().child.take();
    }
}

/// Supervises the server: notes its end, and starts it while it is wanted.
async fn supervise(plan: ReplicaConfig, programs: Arc<Programs>, state: Arc<Mutex<State>>) {
    loop {
        let mut pause = SUPERVISE_INTERVAL;
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = state
                .child
                .as_mut()
                .is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                state.child = None;
                state.unexpected_ends += 1;
                pause = RESTART_PAUSE;
            } else if state.wanted && state.child.is_none() {
                // In a test of an upgrade, the first server creates the schema with the earlier version, and the
                // second one migrates it with this version while the first one runs.
                // A failed start leaves `child` empty, so that the next round tries again.
                let matins = programs.matins_for_start(plan.number + state.starts);
                state.child = plan.start(matins).ok();
                state.starts += 1;
            }
        }
        sleep(pause).await;
    }
}
