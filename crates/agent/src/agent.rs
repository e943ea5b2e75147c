//! Starting an agent and agreeing on the protocol with it.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, Weak, atomic::AtomicBool},
    time::Duration,
};

use model::harness::ResourceLimits;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    AuthMethod, Ended, GuardProgram, Limits, Offers, Opened, Permissions, Status, Unreadable, Used,
    diagnostics::Diagnostics,
    guard::launch::{Control, Launched, Life, Tree, launch},
    limits::{MEASURE_WAIT, STATUS_WAIT, WAITING_LINES, WAITING_REQUESTS},
    offers::names,
    output::{Sorter, drain_stderr, read_stdout},
    router::Router,
    sdk::{
        Connection, Initialized, VERSION,
        error::{AgentError, CallError},
    },
};

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The agent's program and its arguments.
    pub command: Vec<String>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited. The marker is added to it.
    pub env: BTreeMap<String, String>,
    /// How to start the guard.
    pub guard: GuardProgram,
    /// Marks every process of the agent; see [`crate::guard::sweep`]. Unique to the run.
    pub marker: String,
    /// Limits of time and size.
    pub limits: Limits,
    /// How long the agent may live unless its [`Lease`] is renewed.
    pub lease: Duration,
    /// What its processes may use.
    pub resources: ResourceLimits,
    /// The sign-in method that the harness names, if any.
    pub authenticate: Option<String>,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command has no program.
    #[error("start an agent: its command is empty")]
    NoCommand,
    /// The working directory is not there.
    #[error("start an agent in {path:?}: not a folder")]
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
    /// The guard could not start the agent's program.
    #[error("start {program:?}: {reason}")]
    Program {
        /// The agent's program.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// The agent ended before it was ready.
    #[error("start an agent: it ended with {0}")]
    AgentExited(Ended),
    /// The agent was not ready in time.
    #[error("start an agent within {limit:?}; last words: {stderr_tail:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
        /// The end of what it wrote to standard error.
        stderr_tail: String,
    },
    /// The agent speaks another version of the protocol.
    #[error("agree on the protocol: version {VERSION} was offered, the agent answered {answered}")]
    Version {
        /// What it answered, as JSON.
        answered: Value,
    },
    /// The harness names a way to sign in that the agent does not offer to programs.
    #[error("sign in by {method:?}: the agent offers {}", names(.offered))]
    SignInUnknown {
        /// The method that the harness names.
        method: String,
        /// The methods that the agent offers.
        offered: Vec<AuthMethod>,
    },
    /// The agent answered with an error.
    #[error("start an agent: it answered {code}: {message}")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent's answer is not what the protocol says.
    #[error("read the agent's answer: {0}")]
    Malformed(String),
    /// What the agent wrote cannot be read.
    #[error("read the agent's output: {0}")]
    Unreadable(Unreadable),
}

/// A running agent. Dropping it kills it and everything it started.
pub struct Agent {
    pub(crate) connection: Connection,
    pub(crate) control: Arc<Control>,
    pub(crate) life: watch::Receiver<Life>,
    pub(crate) router: Arc<Router>,
    pub(crate) diagnostics: Arc<Diagnostics>,
    pub(crate) limits: Limits,
    pub(crate) offers: Offers,
    /// The session that was opened last, with its settings as they are known.
    pub(crate) session: Mutex<Option<Opened>>,
    /// A prompt is not answered yet, be it that nobody waits for the answer any more.
    pub(crate) prompting: AtomicBool,
    pub(crate) readers: Readers,
}

/// The tasks that read what the agent writes. They end with the last process that could write.
pub(crate) struct Readers {
    pub(crate) stdout: JoinHandle<()>,
    pub(crate) stderr: JoinHandle<()>,
}

/// The right of an agent to live on, to be renewed by whoever watches over its turn. It does not keep
/// the agent: one that was dropped is gone, whoever still has its lease.
#[derive(Clone)]
pub struct Lease(pub(crate) Weak<Control>);

impl Lease {
    /// Lets the agent live for `time` from now. Without it the guard kills the whole tree when the
    /// lease is over, even if this process is frozen. Fails if agent or guard is gone.
    pub fn renew(&self, time: Duration) -> io::Result<()> {
        let control = self.0.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        control.lease(time)
    }
}

/// An agent whose process was started and with which nothing is agreed yet. Dropping it kills it.
pub struct Starting {
    agent: Agent,
    program: String,
    authenticate: Option<String>,
    until: Instant,
}

impl Starting {
    /// The lease of the agent, to be renewed while it starts.
    pub fn lease(&self) -> Lease {
        self.agent.lease()
    }

    /// Agrees on the protocol: offers version 1, verifies it, and signs in if the harness names a
    /// method. If it fails, nothing of the agent is left; if the future is dropped, the guard kills
    /// what was started.
    pub async fn ready(self) -> Result<Agent, StartError> {
        let Self {
            mut agent,
            program,
            authenticate,
            until,
        } = self;
        let failed = match timeout_at(until, agent.agree(authenticate.as_deref())).await {
            Ok(Ok(())) => return Ok(agent),
            Ok(Err(failed)) => failed,
            Err(_) => StartError::Timeout {
                limit: agent.limits.start,
                stderr_tail: agent.diagnostics.stderr_tail(),
            },
        };
        let reason = agent.life.borrow().failed.clone();
        agent.kill().await;
        Err(match reason {
            Some(reason) => StartError::Program { program, reason },
            None => failed,
        })
    }
}

impl Agent {
    /// Starts an agent and agrees on the protocol with it, which must not take longer than the lease:
    /// [`Agent::launch`] and [`Starting::ready`] in one.
    pub async fn start(
        launch: Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<Self, StartError> {
        Self::launch(launch, permissions).await?.ready().await
    }

    /// Starts an agent's process under a guard. The time that it has to start begins here.
    ///
    /// Must be called within a tokio runtime.
    pub async fn launch(
        launch: Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<Starting, StartError> {
        let program = launch
            .command
            .first()
            .cloned()
            .ok_or(StartError::NoCommand)?;
        if !launch.cwd.is_dir() {
            return Err(StartError::WorkingDirectory { path: launch.cwd });
        }
        let until = Instant::now() + launch.limits.start;
        Ok(Starting {
            agent: Self::spawn(&launch, permissions).await?,
            program,
            authenticate: launch.authenticate,
            until,
        })
    }

    /// What the agent says it can do.
    pub fn offers(&self) -> &Offers {
        &self.offers
    }

    /// The agent's right to live on.
    pub fn lease(&self) -> Lease {
        Lease(Arc::downgrade(&self.control))
    }

    /// What the agent's processes use at present; `None` if that cannot be known.
    pub async fn used(&self) -> Option<Used> {
        let mut life = self.life.clone();
        let asked = life.borrow_and_update().used.0;
        self.control.measure().ok()?;
        let told = life.wait_for(|life| life.used.0 > asked || life.clear);
        let told = timeout(MEASURE_WAIT, told).await.ok()?.ok()?;
        (told.used.0 > asked).then_some(told.used.1)
    }

    /// Starts guard, agent and the tasks that speak with it.
    async fn spawn(
        launched: &Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<Self, StartError> {
        let tree = Tree {
            guard: &launched.guard,
            command: &launched.command,
            cwd: &launched.cwd,
            env: &launched.env,
            marker: &launched.marker,
            lease: launched.lease,
            limits: launched.resources,
        };
        let Launched {
            control,
            stdin,
            stdout,
            stderr,
            life,
        } = launch(&tree).map_err(|source| StartError::Guard {
            program: launched.guard.program.clone(),
            source,
        })?;
        let router = Arc::new(Router::new(permissions));
        let diagnostics = Arc::new(Diagnostics::new());
        let requests = Arc::new(Semaphore::new(WAITING_REQUESTS));
        let (messages, received) = mpsc::channel(WAITING_LINES);
        let readers = Readers {
            stdout: tokio::spawn({
                let (router, diagnostics) = (Arc::clone(&router), Arc::clone(&diagnostics));
                let (requests, line_bytes) = (Arc::clone(&requests), launched.limits.line_bytes);
                async move {
                    let sorter = Sorter {
                        router: &router,
                        diagnostics: &diagnostics,
                        messages,
                        requests: &requests,
                        line_bytes,
                    };
                    read_stdout(stdout, sorter).await;
                }
            }),
            stderr: tokio::spawn({
                let diagnostics = Arc::clone(&diagnostics);
                async move { drain_stderr(stderr, &diagnostics).await }
            }),
        };
        let connection = Connection::new(stdin, received, requests, Arc::clone(&router)).await;
        let connection = connection
            .map_err(|_| StartError::Malformed("the connection ended at once".to_owned()))?;
        Ok(Self {
            connection,
            control: Arc::new(control),
            life,
            router,
            diagnostics,
            limits: launched.limits,
            offers: Offers::default(),
            session: Mutex::new(None),
            prompting: AtomicBool::new(false),
            readers,
        })
    }

    /// Agrees on version and offers, and signs in.
    async fn agree(&mut self, authenticate: Option<&str>) -> Result<(), StartError> {
        match self.connection.initialize().await {
            Ok(Initialized::Agreed(offers)) => self.offers = offers,
            Ok(Initialized::OtherVersion(answered)) => {
                return Err(StartError::Version { answered });
            }
            Err(error) => return Err(self.start_error(error).await),
        }
        let Some(method) = authenticate else {
            return Ok(());
        };
        let offered = &self.offers.auth_methods;
        if !offered
            .iter()
            .any(|known| known.id == method && !known.terminal)
        {
            return Err(StartError::SignInUnknown {
                method: method.to_owned(),
                offered: offered.clone(),
            });
        }
        match self.connection.authenticate(method).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.start_error(error).await),
        }
    }

    async fn start_error(&self, error: CallError) -> StartError {
        match error {
            CallError::Answered(AgentError { code, message, .. }) => {
                StartError::Refused { code, message }
            }
            CallError::Closed => match self.diagnostics.unreadable() {
                Some(unreadable) => StartError::Unreadable(unreadable),
                None => StartError::AgentExited(self.ended().await),
            },
            CallError::Malformed(what) => StartError::Malformed(what),
        }
    }

    /// Tells how the agent ended, once its output has; waits a little for its status.
    pub(crate) async fn ended(&self) -> Ended {
        let mut life = self.life.clone();
        let known = life.wait_for(|life| life.exited.is_some() || life.clear);
        timeout(STATUS_WAIT, known).await.ok();
        let life = self.life.borrow().clone();
        Ended {
            status: life.exited.unwrap_or(Status::Unknown),
            lease_over: life.lease_over,
            excess: life.excess,
            stderr_tail: self.diagnostics.stderr_tail(),
            noise_tail: self.diagnostics.noise_tail(),
        }
    }

    /// Kills the whole tree and waits until nothing of it is left.
    async fn kill(self) {
        let mut life = self.life.clone();
        drop(self);
        life.wait_for(|life| life.clear).await.ok();
    }
}
