//! The worker's side of a guard: starting it, telling it, watching it.

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

use model::harness::ResourceLimits;

use super::{
    GuardProgram, MARKER_VARIABLE, WORKER_VARIABLE,
    cgroup::{self, Cgroup},
    limits,
    pipes::AgentEnds,
    sweep,
    wire::{Order, Report},
};
use crate::exit::{Excess, Status, Used};

/// How long a guard that was let go may take to kill its tree, before it is killed itself and the
/// tree is swept by its marker.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// What is known of the agent's processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    /// Why its program could not be started.
    pub(crate) failed: Option<String>,
    /// How its own process ended.
    pub(crate) exited: Option<Status>,
    /// Whether the tree was killed because the lease was over.
    pub(crate) lease_over: bool,
    /// What the tree was killed for using too much of.
    pub(crate) excess: Option<Excess>,
    /// What the tree used when it was last asked, and how often that was.
    pub(crate) used: (u32, Used),
    /// Whether no process of the tree is left, nor the guard.
    pub(crate) clear: bool,
}

/// What to start, as the guard needs it.
pub(crate) struct Tree<'a> {
    pub(crate) guard: &'a GuardProgram,
    pub(crate) command: &'a [String],
    pub(crate) cwd: &'a Path,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) marker: &'a str,
    pub(crate) lease: Duration,
    pub(crate) limits: ResourceLimits,
}

/// A running guard and the worker's ends of the agent's streams.
pub(crate) struct Launched {
    pub(crate) control: Control,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) life: watch::Receiver<Life>,
}

/// The worker's hold on a guard. Letting go kills the tree.
pub(crate) struct Control {
    /// Kept in blocking-free mode: orders are a few bytes and a guard reads them at once.
    socket: UnixStream,
    /// Tells the watching task that the guard was let go.
    _let_go: DropGuard,
}

impl Drop for Control {
    fn drop(&mut self) {
        // The watching task still holds the other direction, so closing alone would end nothing.
        self.socket.shutdown(Shutdown::Write).ok();
    }
}

impl Control {
    /// Lets the tree live for `time` from now.
    pub(crate) fn lease(&self, time: Duration) -> io::Result<()> {
        self.say(Order::Lease(time))
    }

    /// Asks what the tree uses; the answer shows in [`Life`].
    pub(crate) fn measure(&self) -> io::Result<()> {
        self.say(Order::Measure)
    }

    /// Sends SIGTERM to the whole tree.
    pub(crate) fn term(&self) -> io::Result<()> {
        self.say(Order::Term)
    }

    fn say(&self, order: Order) -> io::Result<()> {
        (&self.socket).write_all(order.to_string().as_bytes())
    }
}

/// Starts a guard, which starts the agent. Must be called within a tokio runtime.
pub(crate) fn launch(tree: &Tree<'_>) -> io::Result<Launched> {
    let (ours, theirs) = UnixStream::pair()?;
    let (agent_stdin, stdin) = io::pipe()?;
    let (stdout, agent_stdout) = io::pipe()?;
    let (stderr, agent_stderr) = io::pipe()?;
    let ends = AgentEnds {
        stdin: agent_stdin,
        stdout: agent_stdout,
        stderr: agent_stderr,
    };
    ends.send(&ours)?;
    let stdin = pipe::Sender::from_owned_fd(stdin.into())?;
    let stdout = pipe::Receiver::from_owned_fd(stdout.into())?;
    let stderr = pipe::Receiver::from_owned_fd(stderr.into())?;
    ours.set_nonblocking(true)?;
    let reports = tokio::net::UnixStream::from_std(ours.try_clone()?)?;

    let lease = OsString::from(tree.lease.as_millis().to_string());
    let limits = limits::to_argument(tree.limits)?;
    let group = cgroup::delegated().ok();
    let group = group.map(|base| Cgroup::path(base, tree.marker));
    let mut command = Command::new(&tree.guard.program);
    // What `ps` shows; the program's own path may be a link to whatever runs.
    command.arg0("matins");
    command.args(&tree.guard.args).arg(lease).arg(limits);
    command.arg(group.as_deref().unwrap_or_else(|| Path::new("")));
    command.args(tree.command);
    // The guard's environment and working directory are what the agent inherits.
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
    command.stdin(Stdio::from(OwnedFd::from(theirs)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let guard = command.spawn()?;

    let let_go = CancellationToken::new();
    let (told, life) = watch::channel(Life::default());
    tokio::spawn(watch_guard(Watched {
        guard,
        reports,
        let_go: let_go.clone(),
        told,
        marker: tree.marker.to_owned(),
        group,
    }));
    let control = Control {
        socket: ours,
        _let_go: let_go.drop_guard(),
    };
    Ok(Launched {
        control,
        stdin,
        stdout,
        stderr,
        life,
    })
}

struct Watched {
    guard: Child,
    reports: tokio::net::UnixStream,
    let_go: CancellationToken,
    told: watch::Sender<Life>,
    marker: String,
    group: Option<PathBuf>,
}

/// Passes on what the guard reports until it ends. If it ends without having killed everything, or
/// takes too long to, it is replaced by a sweep.
async fn watch_guard(watched: Watched) {
    let Watched {
        mut guard,
        reports,
        let_go,
        told,
        marker,
        group,
    } = watched;
    // Whether the guard says that nothing is left but itself.
    let listening = async {
        let mut lines = BufReader::new(reports).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match line.parse() {
                Ok(Report::Clear) => return true,
                Ok(report) => told.send_modify(|life| life.note(report)),
                Err(error) => tracing::warn!(%error, "ignored what a guard said"),
            }
        }
        false
    };
    let patience = async {
        let_go.cancelled().await;
        tokio::time::sleep(KILL_LIMIT).await;
    };
    let clear = tokio::select! {
        clear = listening => clear,
        () = patience => false,
    };
    if !clear {
        guard.start_kill().ok();
    }
    if timeout(KILL_LIMIT, guard.wait()).await.is_err() {
        tracing::error!(%marker, "a guard does not end");
    }
    if !clear {
        let swept = marker.clone();
        let swept = tokio::task::spawn_blocking(move || {
            // Whoever got away from the guard is still in the agent's group.
            let emptied = group.map_or(Ok(()), |group| Cgroup::at(group).remove());
            sweep(&swept).and_then(|killed| emptied.map(|()| killed))
        });
        let swept = swept.await;
        match swept.map_err(io::Error::other).flatten() {
            Ok(killed) => tracing::warn!(%marker, killed, "swept the tree of a dead guard"),
            Err(error) => tracing::error!(%marker, %error, "failed to sweep a dead guard's tree"),
        }
    }
    told.send_modify(|life| {
        life.exited.get_or_insert(Status::Unknown);
        life.clear = true;
    });
}

impl Life {
    fn note(&mut self, report: Report) {
        match report {
            Report::Failed(why) => self.failed = Some(why),
            Report::Exited(status) => self.exited = Some(status),
            Report::LeaseOver => self.lease_over = true,
            Report::Excess(excess) => {
                self.excess.get_or_insert(excess);
            }
            Report::Used(used) => self.used = (self.used.0 + 1, used),
            Report::Clear => self.clear = true,
        }
    }
}
