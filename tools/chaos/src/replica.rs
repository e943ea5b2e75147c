//! A replica: a real server process.

use std::{
    fs::{self, OpenOptions},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::process::{Child, Command};

use super::{programs::Programs, supervised::SupervisedProcess};

/// The interval between two heartbeats of a run, in seconds.
const HEARTBEAT_SECONDS: &str = "1";
/// The age at which a heartbeat is stale, in seconds.
const STALE_HEARTBEAT_SECONDS: &str = "6";
/// The polling interval of the watchdog and the scheduler, in seconds.
const POLL_SECONDS: &str = "1";
/// The time for which a stopping server lets its turns continue, in seconds.
pub(crate) const STOP_SECONDS: &str = "2";
/// A time longer than [`STALE_HEARTBEAT_SECONDS`] and than a lease, which is three quarters of that. After it, the
/// other servers have given up the runs of a frozen server.
pub(crate) const BEYOND_LEASE: Duration = Duration::from_secs(8);

/// The maximum number of concurrent turns of one of several servers.
const MAX_WORKERS_OF_REPLICA: usize = 6;
/// The maximum number of concurrent turns of the only server, which has the work of three.
pub(crate) const MAX_WORKERS_ALONE: usize = 18;

/// The variable with a secret that servers pass to agents. The secret must appear in no log, row or prompt.
pub(crate) const CANARY_VARIABLE: &str = "CHAOS_CANARY";

/// The parameters of a server's start.
#[derive(Debug, Clone)]
pub(crate) struct ReplicaConfig {
    pub(crate) number: usize,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) address: SocketAddr,
    /// The database's URL, password included. `None` for a SQLite file in the data folder.
    pub(crate) database: Option<String>,
    /// The maximum number of concurrent turns.
    pub(crate) max_workers: usize,
    /// The secret in [`CANARY_VARIABLE`].
    pub(crate) canary: String,
    /// The path of `libfaketime` and its offset, if the server's clock is wrong.
    pub(crate) faketime: Option<(PathBuf, String)>,
}

/// A supervised server. The process is killed when the value is dropped.
pub(crate) struct Replica {
    pub(crate) config: ReplicaConfig,
    pub(crate) process: SupervisedProcess,
}

impl ReplicaConfig {
    /// Creates the folder of a server below `root` and selects a free address.
    pub(crate) fn new(root: &Path, number: usize, canary: &str) -> Result<Self> {
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
            database: None,
            max_workers: MAX_WORKERS_OF_REPLICA,
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
            .env("MATINS_HEARTBEAT_SECONDS", HEARTBEAT_SECONDS)
            .env("MATINS_HEARTBEAT_STALE", STALE_HEARTBEAT_SECONDS)
            .env("MATINS_WATCHDOG_SECONDS", POLL_SECONDS)
            .env("MATINS_TICK_SECONDS", POLL_SECONDS)
            .env("MATINS_STOP_SECONDS", STOP_SECONDS)
            .env("MATINS_WORKERS", self.max_workers.to_string())
            .env("MATINS_LOG", "info,sqlx=warn");
        if let Some(url) = &self.database {
            // Pass the URL in the environment, because any user can read the arguments of a process, and the URL has
            // the password.
            command.env("MATINS_DATABASE", url);
        }
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
    pub(crate) fn start(config: ReplicaConfig, programs: &Arc<Programs>) -> Self {
        let (plan, programs) = (config.clone(), Arc::clone(programs));
        // In a test of an upgrade, the first server creates the schema with the earlier version, and the second one
        // migrates it with this version while the first one runs.
        let start = move |starts| plan.start(programs.matins_for_start(plan.number + starts));
        Self {
            config,
            process: SupervisedProcess::start(start),
        }
    }
}
