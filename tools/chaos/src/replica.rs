//! One server of three: a real process, which is killed, frozen, asked to stop, and started again.

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

/// Seconds: a beat, the age at which it is stale, and how often things are looked at.
const HEARTBEAT: &str = "1";
const STALE: &str = "6";
const LOOK: &str = "1";
/// How long a server that is asked to stop lets its turns go on, in seconds.
const STOP: &str = "2";
/// Longer than a lease (a quarter less than what is stale) and than what is stale.
pub(crate) const BEYOND_LEASE: Duration = Duration::from_secs(8);
/// Turns of one server at once.
const WORKERS: &str = "6";
/// How often it is looked whether a server has ended that should be there, and how long one that has ended by
/// itself stays so.
const SUPERVISE: Duration = Duration::from_millis(200);
const RESTART: Duration = Duration::from_secs(1);
/// How long a server that is asked to stop may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(20);

/// The variable that holds a secret which agents get, and nobody else.
pub(crate) const CANARY_VARIABLE: &str = "CHAOS_CANARY";

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) database: String,
    pub(crate) canary: String,
    /// The library that lies about the time, and by how much.
    pub(crate) clock: Option<(PathBuf, String)>,
}

/// A server that is kept running. It is killed with the value.
pub(crate) struct Replica {
    pub(crate) plan: Plan,
    state: Arc<Mutex<State>>,
    keeper: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    child: Option<Child>,
    /// Whether it should be there.
    wanted: bool,
    /// How often it was started.
    starts: usize,
    /// How often it ended although nobody had asked it to.
    by_itself: u32,
}

impl Plan {
    /// A place for a server below `root`, at an address of its own.
    pub(crate) fn new(root: &Path, number: usize, database: String, canary: &str) -> Result<Self> {
        let folder = root.join(format!("replica-{number}"));
        fs::create_dir(&folder)?;
        // Free now; a server that cannot have it says so and is started again.
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        Ok(Self {
            number,
            log: root.join(format!("replica-{number}.log")),
            folder,
            address,
            database,
            canary: canary.to_owned(),
            clock: None,
        })
    }

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
            // Not an argument: it holds the password.
            .env("MATINS_DATABASE", &self.database)
            .env("MATINS_HEARTBEAT_SECONDS", HEARTBEAT)
            .env("MATINS_HEARTBEAT_STALE", STALE)
            .env("MATINS_WATCHDOG_SECONDS", LOOK)
            .env("MATINS_TICK_SECONDS", LOOK)
            .env("MATINS_STOP_SECONDS", STOP)
            .env("MATINS_WORKERS", WORKERS)
            .env("MATINS_LOG", "info,sqlx=warn");
        if let Some((library, offset)) = &self.clock {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME", offset)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A key that is pressed for this program is none of the server's.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().context("start a server")
    }
}

impl Replica {
    /// Starts it, and starts it again whenever it ends.
    pub(crate) fn keep(plan: Plan, programs: &Arc<Programs>) -> Self {
        let state = Arc::new(Mutex::new(State {
            wanted: true,
            ..State::default()
        }));
        let keeper = tokio::spawn(keep(plan.clone(), Arc::clone(programs), Arc::clone(&state)));
        Self {
            plan,
            state,
            keeper,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process, while there is one.
    pub(crate) fn pid(&self) -> Option<i32> {
        let state = self.state();
        let pid = state.child.as_ref().and_then(Child::id)?;
        pid.try_into().ok()
    }

    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.pid().is_some_and(|pid| processes::signal(pid, signal))
    }

    /// Whether it may be started again.
    pub(crate) fn want(&self, wanted: bool) {
        self.state().wanted = wanted;
    }

    /// How often it ended although nobody had asked it to.
    pub(crate) fn ended_by_itself(&self) -> u32 {
        self.state().by_itself
    }

    /// Kills it at once, and does not start it again.
    pub(crate) async fn kill(&self) {
        let child = {
            let mut state = self.state();
            state.wanted = false;
            state.child.take()
        };
        if let Some(mut child) = child {
            child.kill().await.ok();
        }
    }

    /// Asks it to stop, and does not start it again. Gives whether it ended in time.
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
        let ended = timeout(PATIENCE, child.wait()).await.is_ok();
        if !ended {
            child.kill().await.ok();
        }
        ended
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.keeper.abort();
        // A stopped one is killed as well: its child is dropped.
        self.state().child.take();
    }
}

async fn keep(plan: Plan, programs: Arc<Programs>, state: Arc<Mutex<State>>) {
    loop {
        let mut pause = SUPERVISE;
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = state
                .child
                .as_mut()
                .is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                state.child = None;
                state.by_itself += 1;
                pause = RESTART;
            } else if state.wanted && state.child.is_none() {
                // The first server of all makes the schema, and the second brings it up to date beside it.
                let matins = programs.matins(plan.number + state.starts);
                state.child = plan.start(matins).ok();
                state.starts += 1;
            }
        }
        sleep(pause).await;
    }
}
