//! The worker's side of a guard: its start, its orders and its reports.
//!
//! Dropping a [`GuardControl`] makes the guard kill its tree. If the guard does not do so in time, or is killed itself,
//! the worker kills the guard and sweeps the tree by its marker. [`ProcessState::all_ended`] becomes `true` only after
//! that.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Write},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::unix::pipe,
    process::{Child, Command},
    sync::watch,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use model::agent::ResourceLimits;

use super::{
    GuardProgram, MARKER_VARIABLE, WORKER_VARIABLE,
    cgroup::{self, Cgroup},
    limits_argument,
    pipes::AgentStreams,
    sweep,
    wire::{GuardCommand, GuardReport},
};
use crate::exit::{ExceededLimit, ExitStatus, ResourceUsage};

/// The time that a guard has to kill its tree after the worker dropped its [`GuardControl`]. Afterwards the worker
/// kills the guard and sweeps the tree by its marker.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of an agent's processes as the worker knows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessState {
    /// The reason why the agent's program could not be started, if so.
    pub(crate) start_error: Option<String>,
    /// The exit status of the agent's own process, once it has ended.
    pub(crate) exit_status: Option<ExitStatus>,
    /// `true` if the guard killed the tree because the lease was over.
    pub(crate) lease_expired: bool,
    /// The limit for which the guard killed the tree, if any.
    pub(crate) exceeded_limit: Option<ExceededLimit>,
    /// The number of reports of used resources, and the last of these reports.
    pub(crate) resource_usage: (u32, ResourceUsage),
    /// `true` if neither a process of the tree nor the guard is left.
    pub(crate) all_ended: bool,
}

/// The agent's command and its conditions, as the guard needs them.
pub(crate) struct GuardedProcess<'a> {
    pub(crate) guard: &'a GuardProgram,
    pub(crate) command: &'a [String],
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) marker: &'a str,
    pub(crate) lease: Duration,
    pub(crate) limits: ResourceLimits,
}

/// A running guard and the worker's ends of the agent's streams.
pub(crate) struct LaunchedGuard {
    pub(crate) control: GuardControl,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) process_state: watch::Receiver<ProcessState>,
}

/// The worker's control of a guard. Dropping it makes the guard kill its tree.
pub(crate) struct GuardControl {
    /// A non-blocking socket. A blocked write cannot occur in practice, because orders are a few bytes long and a
    /// guard reads them at once.
    socket: UnixStream,
    /// Cancels a token when the control is dropped, so that the watching task limits the time of the guard's end.
    _dropped: DropGuard,
}

impl Drop for GuardControl {
    fn drop(&mut self) {
        // The watching task holds a clone of the socket, so closing this descriptor alone would not give the guard
        // end of file.
        self.socket.shutdown(Shutdown::Write).ok();
    }
}

impl GuardControl {
    /// Lets the tree live for `time` from now.
    pub(crate) fn renew_lease(&self, time: Duration) -> io::Result<()> {
        self.send(GuardCommand::Lease(time))
    }

    /// Requests a report of the used resources, which arrives in [`ProcessState::resource_usage`].
    pub(crate) fn request_usage(&self) -> io::Result<()> {
        self.send(GuardCommand::ReportUsage)
    }

    /// Sends SIGTERM to the whole tree.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        self.send(GuardCommand::Terminate)
    }

    fn send(&self, order: GuardCommand) -> io::Result<()> {
        (&self.socket).write_all(order.to_string().as_bytes())
    }
}

/// Starts a guard, which starts the agent. The caller must be within a tokio runtime.
pub(crate) fn launch(tree: &GuardedProcess<'_>) -> io::Result<LaunchedGuard> {
    // 1. Create the streams and put the agent's ends into the socket. They wait there until the guard has started.
    let (worker_socket, guard_socket) = UnixStream::pair()?;
    let (agent_stdin, stdin) = io::pipe()?;
    let (stdout, agent_stdout) = io::pipe()?;
    let (stderr, agent_stderr) = io::pipe()?;
    let agent_streams = AgentStreams {
        stdin: agent_stdin,
        stdout: agent_stdout,
        stderr: agent_stderr,
    };
    agent_streams.send(&worker_socket)?;
    let stdin = pipe::Sender::from_owned_fd(stdin.into())?;
    let stdout = pipe::Receiver::from_owned_fd(stdout.into())?;
    let stderr = pipe::Receiver::from_owned_fd(stderr.into())?;
    worker_socket.set_nonblocking(true)?;
    let reports = tokio::net::UnixStream::from_std(worker_socket.try_clone()?)?;

    // 2. Build the guard's command line.
    let lease = OsString::from(tree.lease.as_millis().to_string());
    let limits = limits_argument::to_argument(tree.limits)?;
    let cgroup_path = cgroup::delegated_cgroup().ok();
    let cgroup_path = cgroup_path.map(|base| Cgroup::path(base, tree.marker));
    let mut command = Command::new(&tree.guard.program);
    // `ps` shows this name, because the program's own path may be `/proc/self/exe`.
    command.arg0("matins");
    command.args(&tree.guard.args).arg(lease).arg(limits);
    command.arg(cgroup_path.as_deref().unwrap_or_else(|| Path::new("")));
    command.args(tree.command);
    // The agent inherits the guard's environment and working directory. The variables of worker and marker come last,
    // so that an agent cannot set them and hide its processes from a sweep.
    command
        .env_clear()
        .envs(tree.env)
        .env_remove(WORKER_VARIABLE)
        .envs(
            tree.guard
                .worker
                .iter()
                .map(|worker| (WORKER_VARIABLE, worker)),
        )
        .env(MARKER_VARIABLE, tree.marker);
    command.current_dir(tree.cwd);
    command.stdin(Stdio::from(OwnedFd::from(guard_socket)));
    // A pipe without a reader discards the output. `Stdio::null()` would fail in a container without `/dev/null`.
    let (_, unread) = io::pipe()?;
    command.stdout(unread.try_clone()?).stderr(unread);
    let guard = command.spawn()?;

    // 3. Watch the guard.
    let control_dropped = CancellationToken::new();
    let (state_sender, process_state) = watch::channel(ProcessState::default());
    tokio::spawn(watch_guard(WatchedGuard {
        guard,
        reports,
        control_dropped: control_dropped.clone(),
        process_state: state_sender,
        marker: tree.marker.to_owned(),
        group: cgroup_path,
    }));
    let control = GuardControl {
        socket: worker_socket,
        _dropped: control_dropped.drop_guard(),
    };
    Ok(LaunchedGuard {
        control,
        stdin,
        stdout,
        stderr,
        process_state,
    })
}

struct WatchedGuard {
    guard: Child,
    reports: tokio::net::UnixStream,
    control_dropped: CancellationToken,
    process_state: watch::Sender<ProcessState>,
    marker: String,
    group: Option<PathBuf>,
}

/// Applies the guard's reports to the process state until the guard ends. If the guard ends without having killed its
/// whole tree, or takes too long to kill it, kills the guard and sweeps the tree.
async fn watch_guard(watched: WatchedGuard) {
    let WatchedGuard {
        mut guard,
        reports,
        control_dropped,
        process_state: state_sender,
        marker,
        group: cgroup_path,
    } = watched;
    // Returns `true` if the guard reports that no process of the tree is left.
    let listening = async {
        let mut lines = BufReader::new(reports).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match line.parse() {
                Ok(GuardReport::AllEnded) => return true,
                Ok(report) => state_sender.send_modify(|state| state.apply_report(report)),
                Err(error) => tracing::warn!(%error, "ignored an unknown report of a guard"),
            }
        }
        false
    };
    // The time starts when the control is dropped: a guard whose control still exists may run as long as its agent.
    let kill_deadline = async {
        control_dropped.cancelled().await;
        tokio::time::sleep(KILL_TIMEOUT).await;
    };
    // The guard closes the socket at its end, so a killed guard ends `listening` with `false`.
    let all_ended = tokio::select! {
        all_ended = listening => all_ended,
        () = kill_deadline => false,
    };
    if !all_ended {
        guard.start_kill().ok();
    }
    // Wait for the guard in any case, so that it does not remain as a zombie.
    if timeout(KILL_TIMEOUT, guard.wait()).await.is_err() {
        tracing::error!(%marker, "a guard did not end in time");
    }
    if !all_ended {
        let swept_marker = marker.clone();
        let sweep_result = tokio::task::spawn_blocking(move || {
            // A process that escaped from the guard is still in the agent's control group.
            let emptied = cgroup_path.map_or(Ok(()), |path| Cgroup::open_existing(path).remove());
            sweep(&swept_marker).and_then(|killed| emptied.map(|()| killed))
        });
        let sweep_result = sweep_result.await;
        match sweep_result.map_err(io::Error::other).flatten() {
            Ok(killed) => {
                tracing::warn!(%marker, killed, "killed the leftover processes of a dead guard");
            }
            Err(error) => {
                tracing::error!(%marker, %error, "cannot kill the leftover processes of a dead guard");
            }
        }
    }
    // Set `all_ended` last, because a caller that sees it may start the run's next process at once.
    state_sender.send_modify(|state| {
        state.exit_status.get_or_insert(ExitStatus::Unknown);
        state.all_ended = true;
    });
}

impl ProcessState {
    fn apply_report(&mut self, report: GuardReport) {
        match report {
            GuardReport::StartFailed(reason) => self.start_error = Some(reason),
            GuardReport::Exited(status) => self.exit_status = Some(status),
            GuardReport::LeaseExpired => self.lease_expired = true,
            GuardReport::LimitExceeded(limit) => {
                self.exceeded_limit.get_or_insert(limit);
            }
            GuardReport::Usage(usage) => self.resource_usage = (self.resource_usage.0 + 1, usage),
            GuardReport::AllEnded => self.all_ended = true,
        }
    }
}
