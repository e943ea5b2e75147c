//! Commands that speak no protocol, each under a guard of its own.
//!
//! A dropped [`RunningCommand`] kills all its processes. Of the command's output, only the last bytes are kept.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use model::agent::ResourceLimits;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    ExitStatus, GuardProgram, Lease, boxed,
    guard::launch::{GuardControl, GuardedProcess, LaunchedGuard, ProcessState, launch},
    limits::{COMMAND_TAIL_BYTES, EXIT_STATUS_TIMEOUT},
    tail::Tail,
};

/// A command that runs to its end. Its standard input is empty, and only the last bytes of its output are kept.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The absolute path of the working directory.
    pub cwd: PathBuf,
    /// The whole environment: the command inherits no other variable. The guard's marker is added to it.
    pub env: BTreeMap<String, String>,
    /// The command that starts the guard.
    pub guard: GuardProgram,
    /// The marker of every process of the command, unique to the run. See [`crate::guard::sweep`].
    pub marker: String,
    /// The time after which the guard kills the command unless its [`Lease`] is renewed.
    pub lease: Duration,
    /// The limits of memory, processes, processor time and files of the command's processes.
    pub resources: ResourceLimits,
}

/// The reason why a command could not be started under a guard.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command is empty.
    #[error("the command is empty")]
    Empty,
    /// The working directory does not exist.
    #[error("the working directory `{}` is not a folder", .path.display())]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The guard could not be started.
    #[error("cannot start the guard `{}`", .program.display())]
    Guard {
        /// The guard's program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// The reason why the command's program could not be started, if so.
    pub start_error: Option<String>,
    /// The exit status of the command's own process.
    pub status: ExitStatus,
    /// `true` if the guard killed the command because its lease was over.
    pub lease_expired: bool,
    /// The last bytes of standard output and standard error together.
    pub output_tail: String,
}

/// A running command. Dropping it kills the command and every process that the command started.
pub struct RunningCommand {
    control: Arc<GuardControl>,
    process_state: watch::Receiver<ProcessState>,
    output: Arc<Mutex<Tail>>,
    readers: [JoinHandle<()>; 2],
}

impl Command {
    /// Starts the command under a guard. If the program cannot be started, [`CommandEnd::start_error`] has the
    /// reason.
    ///
    /// The caller must be within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the command is empty, if the working directory does not exist, or if the guard cannot be
    /// started.
    pub fn start(&self) -> Result<RunningCommand, CommandError> {
        if self.command.is_empty() {
            return Err(CommandError::Empty);
        }
        if !self.cwd.is_dir() {
            return Err(CommandError::WorkingDirectory {
                path: self.cwd.clone(),
            });
        }
        let tree = GuardedProcess {
            guard: &self.guard,
            command: &self.command,
            cwd: &self.cwd,
            env: &self.env,
            marker: &self.marker,
            lease: self.lease,
            limits: self.resources,
        };
        let LaunchedGuard {
            control,
            stdin,
            stdout,
            stderr,
            process_state,
        } = launch(&tree).map_err(|source| CommandError::Guard {
            program: self.guard.program.clone(),
            source,
        })?;
        // Close the input at once, so that a command that reads it gets end of file and cannot hang.
        drop(stdin);
        let output = Arc::new(Mutex::new(Tail::new(COMMAND_TAIL_BYTES)));
        let readers = [
            tokio::spawn(read_into_tail(stdout, Arc::clone(&output))),
            tokio::spawn(read_into_tail(stderr, Arc::clone(&output))),
        ];
        Ok(RunningCommand {
            control: Arc::new(control),
            process_state,
            output,
            readers,
        })
    }
}

impl RunningCommand {
    /// Returns the lease of the command, which the caller must renew while the command runs.
    pub fn lease(&self) -> Lease {
        Lease(Arc::downgrade(&self.control))
    }

    /// Waits until no process of the command is left. When the command's own process has ended, the guard asks the
    /// remaining descendants to end and then kills them.
    #[boxed]
    pub async fn wait(&self) {
        // Waiting fails only if the task that watches the guard has ended, and then no process is left either.
        self.process_state
            .clone()
            .wait_for(|state| state.all_ended)
            .await
            .ok();
    }

    /// Returns the exit status of the command's own process. Returns `None` while that process runs.
    pub fn status(&self) -> Option<ExitStatus> {
        self.process_state.borrow().exit_status
    }

    /// Kills the remaining processes of the command and returns how it ended. No process is left when the function
    /// returns.
    #[boxed]
    pub async fn kill(self) -> CommandEnd {
        let Self {
            control,
            process_state: mut state,
            output,
            readers,
        } = self;
        // Dropping the control closes the guard's socket, and the guard then kills the whole tree.
        drop(control);
        state.wait_for(|state| state.all_ended).await.ok();
        // No process can write any more, so the readers reach the end of the output at once. The limit is for a
        // process that escaped from the guard with the output open.
        let reading = async {
            for reader in readers {
                reader.await.ok();
            }
        };
        timeout(EXIT_STATUS_TIMEOUT, reading).await.ok();
        let state = state.borrow().clone();
        let output = output.lock().unwrap_or_else(PoisonError::into_inner);
        CommandEnd {
            start_error: state.start_error,
            status: state.exit_status.unwrap_or(ExitStatus::Unknown),
            lease_expired: state.lease_expired,
            output_tail: output.text(),
        }
    }
}

/// Reads to the end of the stream, so that the command never blocks on a full pipe.
async fn read_into_tail(mut from: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(&chunk[..count]);
    }
}
