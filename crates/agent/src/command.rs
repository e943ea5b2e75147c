//! Commands that speak no protocol, under a guard of their own.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use model::harness::ResourceLimits;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    GuardProgram, Lease, Status,
    guard::launch::{Control, Launched, Life, Tree, launch},
    limits::{COMMAND_TAIL_BYTES, STATUS_WAIT},
    tail::Tail,
};

/// A command to be run to its end. It reads nothing, and what it writes is kept as far as its tail.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited. The marker is added to it.
    pub env: BTreeMap<String, String>,
    /// How to start the guard.
    pub guard: GuardProgram,
    /// Marks every process of the command; see [`crate::guard::sweep`]. Unique to the run.
    pub marker: String,
    /// How long it may live unless its [`Lease`] is renewed.
    pub lease: Duration,
    /// What its processes may use.
    pub resources: ResourceLimits,
}

/// Why a command could not be given to a guard.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It has no program.
    #[error("start a command: it is empty")]
    Empty,
    /// The working directory is not there.
    #[error("start a command in {path:?}: not a folder")]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The guard could not be started.
    #[error("start the guard {program:?}")]
    Guard {
        /// The guard's program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Why its program could not be started.
    pub failed: Option<String>,
    /// How its own process ended.
    pub status: Status,
    /// Whether it was killed because its lease was over.
    pub lease_over: bool,
    /// The end of what it wrote, to standard output and standard error together.
    pub output_tail: String,
}

/// A command that runs. Dropping it kills it and everything it started.
pub struct RunningCommand {
    control: Arc<Control>,
    life: watch::Receiver<Life>,
    output: Arc<Mutex<Tail>>,
    readers: [JoinHandle<()>; 2],
}

impl Command {
    /// Starts the command under a guard. Whether its program could be started shows at its end.
    ///
    /// Must be called within a tokio runtime.
    pub fn start(&self) -> Result<RunningCommand, CommandError> {
        if self.command.is_empty() {
            return Err(CommandError::Empty);
        }
        if !self.cwd.is_dir() {
            return Err(CommandError::WorkingDirectory {
                path: self.cwd.clone(),
            });
        }
        let tree = Tree {
            guard: &self.guard,
            command: &self.command,
            cwd: &self.cwd,
            env: &self.env,
            marker: &self.marker,
            lease: self.lease,
            limits: self.resources,
        };
        let Launched {
            control,
            stdin,
            stdout,
            stderr,
            life,
        } = launch(&tree).map_err(|source| CommandError::Guard {
            program: self.guard.program.clone(),
            source,
        })?;
        drop(stdin);
        let output = Arc::new(Mutex::new(Tail::new(COMMAND_TAIL_BYTES)));
        let readers = [
            tokio::spawn(keep(stdout, Arc::clone(&output))),
            tokio::spawn(keep(stderr, Arc::clone(&output))),
        ];
        Ok(RunningCommand {
            control: Arc::new(control),
            life,
            output,
            readers,
        })
    }
}

impl RunningCommand {
    /// The command's right to live on.
    pub fn lease(&self) -> Lease {
        Lease(Arc::downgrade(&self.control))
    }

    /// Waits until nothing of the command is left. What its own process leaves behind is asked to end
    /// by its guard, and then killed.
    pub async fn ended(&self) {
        // Fails only if nobody watches any more, and then nothing is left either.
        self.life.clone().wait_for(|life| life.clear).await.ok();
    }

    /// How its own process has ended, if it has.
    pub fn status(&self) -> Option<Status> {
        self.life.borrow().exited
    }

    /// Kills what is left of it, and tells how it ended. When it answers, nothing of it is left.
    pub async fn end(self) -> CommandEnd {
        let Self {
            control,
            mut life,
            output,
            readers,
        } = self;
        drop(control);
        life.wait_for(|life| life.clear).await.ok();
        // Nobody can write any more, so what was written is read in no time.
        let reading = async {
            for reader in readers {
                reader.await.ok();
            }
        };
        timeout(STATUS_WAIT, reading).await.ok();
        let life = life.borrow().clone();
        let output = output.lock().unwrap_or_else(PoisonError::into_inner);
        CommandEnd {
            failed: life.failed,
            status: life.exited.unwrap_or(Status::Unknown),
            lease_over: life.lease_over,
            output_tail: output.text(),
        }
    }
}

/// Reads to the end, so that the command never waits for a reader.
async fn keep(mut from: impl AsyncRead + Unpin, tail: Arc<Mutex<Tail>>) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(&chunk[..count]);
    }
}
