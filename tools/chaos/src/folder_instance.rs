//! An instance in a folder: the folder, and a real runtime process behind a proxy to the servers.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use tokio::process::{Child, Command};

use super::{
    programs::Programs,
    proxy::Proxy,
    replica::{CANARY_VARIABLE, STOP_SECONDS},
    supervised::SupervisedProcess,
    trigger_folder::TriggerFolder,
};

/// The maximum number of concurrent turns of one runtime.
const MAX_TURNS: &str = "3";

/// The parameters of a runtime's start.
#[derive(Debug, Clone)]
pub(crate) struct RuntimeConfig {
    pub(crate) number: usize,
    /// The trigger folder.
    pub(crate) folder: PathBuf,
    /// The home folder of the process, with the token.
    pub(crate) home: PathBuf,
    /// The address of the proxy.
    pub(crate) server: String,
    /// The secret in [`CANARY_VARIABLE`].
    pub(crate) canary: String,
    /// The path of `libfaketime` and its offset, if the clock is wrong.
    pub(crate) faketime: Option<(PathBuf, String)>,
}

/// An instance in a folder. Its runtime is killed when the value is dropped.
pub(crate) struct FolderInstance {
    pub(crate) config: RuntimeConfig,
    pub(crate) folder: Arc<TriggerFolder>,
    pub(crate) proxy: Proxy,
    pub(crate) runtime: Arc<SupervisedProcess>,
}

impl RuntimeConfig {
    /// Returns the path of the log.
    pub(crate) fn log(&self) -> PathBuf {
        self.home.with_extension("log")
    }

    /// Returns the path of the token. A file of this name may have a secret.
    pub(crate) fn token(&self) -> PathBuf {
        self.home.join("token")
    }

    /// Starts the runtime. It appends to the log of earlier starts.
    fn start(&self, matins: &Path) -> Result<Child> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log())?;
        let mut command = Command::new(matins);
        command
            .args(["runtime", "--server", &self.server, "--turns", MAX_TURNS])
            .args(["--folder".as_ref(), self.folder.as_os_str()])
            .args(["--token-file".as_ref(), self.token().as_os_str()])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env(CANARY_VARIABLE, &self.canary)
            .env("MATINS_STOP_SECONDS", STOP_SECONDS)
            .env("MATINS_LOG", "info");
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
            // A process group of its own keeps Ctrl-C in the terminal from interrupting the runtime.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().context("cannot start a runtime")
    }
}

impl FolderInstance {
    /// Starts a runtime with the token of its instance, and a supervisor that restarts it whenever it ends.
    pub(crate) fn start(
        config: RuntimeConfig,
        token: &str,
        folder: Arc<TriggerFolder>,
        proxy: Proxy,
        programs: &Arc<Programs>,
    ) -> Result<Self> {
        fs::create_dir(&config.home)?;
        fs::write(config.token(), token)?;
        let (plan, programs) = (config.clone(), Arc::clone(programs));
        let runtime = SupervisedProcess::start(move |_| plan.start(&programs.matins));
        Ok(Self {
            config,
            folder,
            proxy,
            runtime: Arc::new(runtime),
        })
    }

    /// `true` if `libfaketime` is loaded into the runtime.
    pub(crate) fn has_wrong_clock(&self) -> bool {
        let maps = self
            .runtime
            .pid()
            .and_then(|pid| fs::read_to_string(format!("/proc/{pid}/maps")).ok());
        maps.is_some_and(|maps| maps.contains("faketime"))
    }
}
