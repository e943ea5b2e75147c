//! The start of an agent and the negotiation of the protocol with it.
//!
//! An [`Agent`] owns the connection to the agent's process, the control of its guard and the tasks that read its
//! output. Dropping an [`Agent`] at any point kills the whole process tree, because it drops the control of the
//! guard.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, Weak, atomic::AtomicBool},
    time::Duration,
};

use model::agent::ResourceLimits;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    AuthMethod, Capabilities, EarlyExit, ExitStatus, GuardProgram, Limits, OpenSession,
    Permissions, ResourceUsage, UnreadableOutput, boxed,
    capabilities::format_auth_methods,
    diagnostics::Diagnostics,
    guard::launch::{GuardControl, GuardedProcess, LaunchedGuard, ProcessState, launch},
    limits::{EXIT_STATUS_TIMEOUT, MAX_PENDING_REQUESTS, MAX_QUEUED_LINES, USAGE_REPORT_TIMEOUT},
    output::{LineDispatcher, drain_stderr, read_stdout},
    sdk::{
        Connection, InitializeOutcome, PROTOCOL_VERSION,
        error::{AgentError, CallError},
        router::Router,
    },
};

/// The command of an agent and the conditions under which it runs.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The agent's program and its arguments.
    pub command: Vec<String>,
    /// The absolute path of the working directory.
    pub cwd: PathBuf,
    /// The whole environment: the agent inherits no other variable. The guard's marker is added to it.
    pub env: BTreeMap<String, String>,
    /// The command that starts the guard.
    pub guard: GuardProgram,
    /// The marker of every process of the agent, unique to the run. See [`crate::guard::sweep`].
    pub marker: String,
    /// The limits of time and size.
    pub limits: Limits,
    /// The time after which the guard kills the agent unless its [`Lease`] is renewed.
    pub lease: Duration,
    /// The limits of memory, processes, processor time and files of the agent's processes.
    pub resources: ResourceLimits,
    /// The ID of the configured sign-in method, if any.
    pub authenticate: Option<String>,
}

/// The reason why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command is empty.
    #[error("the `command` of the agent is empty")]
    NoCommand,
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
    /// The guard could not start the agent's program.
    #[error("cannot start `{program}`: {reason}")]
    Program {
        /// The agent's program.
        program: String,
        /// The error of the operating system, as text.
        reason: String,
    },
    /// The agent ended before it was ready.
    #[error("the agent ended before it was ready, with {0}")]
    AgentExited(EarlyExit),
    /// The agent was not ready in time.
    #[error("the agent was not ready within {limit:?}; its last output: {stderr_tail:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
        /// The last bytes that the agent wrote to standard error.
        stderr_tail: String,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "unsupported protocol version `{protocol_version}` of the agent: only version {PROTOCOL_VERSION} is supported"
    )]
    Version {
        /// The version in the agent's reply, as JSON.
        protocol_version: Value,
    },
    /// The agent does not offer the configured sign-in method to programs.
    #[error("unknown sign-in method `{method}`; the agent offers {}", format_auth_methods(.offered))]
    SignInUnknown {
        /// The configured method.
        method: String,
        /// The methods that the agent offers.
        offered: Vec<AuthMethod>,
    },
    /// The agent replied with an error.
    #[error("cannot start the agent: it replied with an error: {message} ({code})")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent's reply does not match the protocol.
    #[error("the agent's reply does not match the protocol: {0}")]
    Malformed(String),
    /// The reader gave up on the agent's output, for this reason.
    #[error("cannot read the agent's output: {0}")]
    Unreadable(UnreadableOutput),
}

/// A running agent. Dropping it kills the agent and every process that the agent started.
pub struct Agent {
    pub(crate) connection: Connection,
    pub(crate) control: Arc<GuardControl>,
    pub(crate) process_state: watch::Receiver<ProcessState>,
    pub(crate) router: Arc<Router>,
    pub(crate) diagnostics: Arc<Diagnostics>,
    pub(crate) limits: Limits,
    pub(crate) capabilities: Capabilities,
    /// The session that was opened last, with the last known values of its settings.
    pub(crate) session: Mutex<Option<OpenSession>>,
    /// `true` while a prompt has no answer yet, even if its caller has dropped the future.
    pub(crate) is_prompting: AtomicBool,
    pub(crate) readers: Readers,
}

/// The tasks that read the agent's output. They end when the last process that could write has ended.
pub(crate) struct Readers {
    pub(crate) stdout: JoinHandle<()>,
    pub(crate) stderr: JoinHandle<()>,
}

/// The right of an agent to stay alive, which the supervisor of its turn must renew. A [`Lease`] does not own the
/// agent: dropping the [`Agent`] kills the processes even while a [`Lease`] exists.
#[derive(Clone)]
pub struct Lease(pub(crate) Weak<GuardControl>);

impl Lease {
    /// Lets the agent live for `time` from now. If no renewal follows, the guard kills the whole tree when the lease
    /// is over, even if this process is frozen.
    ///
    /// # Errors
    ///
    /// Returns an error if the agent was dropped, or if its guard has ended.
    pub fn renew(&self, time: Duration) -> io::Result<()> {
        let control = self.0.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        control.renew_lease(time)
    }
}

/// An agent whose process was started, before the protocol is negotiated. Dropping it kills the agent.
pub struct StartingAgent {
    agent: Agent,
    program: String,
    authenticate: Option<String>,
    deadline: Instant,
}

impl StartingAgent {
    /// Returns the lease of the agent, which the caller must renew while the agent starts.
    pub fn lease(&self) -> Lease {
        self.agent.lease()
    }

    /// Negotiates the protocol: offers version 1, verifies the version of the reply, and signs in if the configuration
    /// names a method. If the future is dropped, the guard kills the agent's processes.
    ///
    /// # Errors
    ///
    /// Returns a [`StartError`] if the agent is not ready in time or its replies do not fit. No process of the agent
    /// is left by then.
    #[boxed]
    pub async fn negotiate(self) -> Result<Agent, StartError> {
        let Self {
            mut agent,
            program,
            authenticate,
            deadline,
        } = self;
        let error = match timeout_at(
            deadline,
            agent.initialize_and_sign_in(authenticate.as_deref()),
        )
        .await
        {
            Ok(Ok(())) => return Ok(agent),
            Ok(Err(error)) => error,
            Err(_) => StartError::Timeout {
                limit: agent.limits.start,
                stderr_tail: agent.diagnostics.stderr_tail(),
            },
        };
        // Read the reason before the kill: "the program could not be started" explains more than the closed
        // connection that follows from it.
        let start_error = agent.process_state.borrow().start_error.clone();
        agent.kill().await;
        Err(match start_error {
            Some(reason) => StartError::Program { program, reason },
            None => error,
        })
    }
}

impl Agent {
    /// Starts an agent and negotiates the protocol with it: [`Agent::launch`] and
    /// [`StartingAgent::negotiate`] in one call.
    /// Both together must not take longer than the lease, because the caller cannot renew the lease meanwhile.
    #[boxed]
    pub async fn start(
        launch: Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<Self, StartError> {
        Self::launch(launch, permissions).await?.negotiate().await
    }

    /// Starts an agent's process under a guard. The limit [`Limits::start`] counts from here.
    ///
    /// The caller must be within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the command is empty, if the working directory does not exist, or if the guard cannot be
    /// started.
    #[boxed]
    pub async fn launch(
        launch: Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<StartingAgent, StartError> {
        let program = launch
            .command
            .first()
            .cloned()
            .ok_or(StartError::NoCommand)?;
        if !launch.cwd.is_dir() {
            return Err(StartError::WorkingDirectory { path: launch.cwd });
        }
        let deadline = Instant::now() + launch.limits.start;
        Ok(StartingAgent {
            agent: Self::spawn(&launch, permissions).await?,
            program,
            authenticate: launch.authenticate,
            deadline,
        })
    }

    /// Returns the capabilities from the agent's reply to `initialize`.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the lease of the agent.
    pub fn lease(&self) -> Lease {
        Lease(Arc::downgrade(&self.control))
    }

    /// Returns the present use of resources by the agent's processes. Returns `None` if the guard does not report it
    /// in time.
    #[boxed]
    pub async fn resource_usage(&self) -> Option<ResourceUsage> {
        let mut state = self.process_state.clone();
        // The counter tells this report from an earlier one, which `state` may still hold.
        let reports_before = state.borrow_and_update().resource_usage.0;
        self.control.request_usage().ok()?;
        let report =
            state.wait_for(|state| state.resource_usage.0 > reports_before || state.all_ended);
        let report = timeout(USAGE_REPORT_TIMEOUT, report).await.ok()?.ok()?;
        (report.resource_usage.0 > reports_before).then_some(report.resource_usage.1)
    }

    /// Starts the guard, the agent and the tasks that read its output.
    async fn spawn(
        launch_settings: &Launch,
        permissions: Arc<dyn Permissions>,
    ) -> Result<Self, StartError> {
        // 1. Start the guard and the agent.
        let tree = GuardedProcess {
            guard: &launch_settings.guard,
            command: &launch_settings.command,
            cwd: &launch_settings.cwd,
            env: &launch_settings.env,
            marker: &launch_settings.marker,
            lease: launch_settings.lease,
            limits: launch_settings.resources,
        };
        let LaunchedGuard {
            control,
            stdin,
            stdout,
            stderr,
            process_state,
        } = launch(&tree).map_err(|source| StartError::Guard {
            program: launch_settings.guard.program.clone(),
            source,
        })?;
        // 2. Start the readers before the connection, so that the agent never blocks on a full pipe.
        let router = Arc::new(Router::new(permissions));
        let diagnostics = Arc::new(Diagnostics::new());
        let requests = Arc::new(Semaphore::new(MAX_PENDING_REQUESTS));
        let (messages, received) = mpsc::channel(MAX_QUEUED_LINES);
        let readers = Readers {
            stdout: tokio::spawn({
                let (router, diagnostics) = (Arc::clone(&router), Arc::clone(&diagnostics));
                let (requests, max_line_bytes) =
                    (Arc::clone(&requests), launch_settings.limits.max_line_bytes);
                async move {
                    let sorter = LineDispatcher {
                        router: &router,
                        diagnostics: &diagnostics,
                        messages,
                        request_permits: &requests,
                        max_line_bytes,
                    };
                    read_stdout(stdout, sorter).await;
                }
            }),
            stderr: tokio::spawn({
                let diagnostics = Arc::clone(&diagnostics);
                async move { drain_stderr(stderr, &diagnostics).await }
            }),
        };
        // 3. Connect the protocol.
        let connection = Connection::new(stdin, received, requests, Arc::clone(&router)).await;
        let connection = connection.map_err(|_| {
            StartError::Malformed("the connection ended before the first message".to_owned())
        })?;
        Ok(Self {
            connection,
            control: Arc::new(control),
            process_state,
            router,
            diagnostics,
            limits: launch_settings.limits,
            capabilities: Capabilities::default(),
            session: Mutex::new(None),
            is_prompting: AtomicBool::new(false),
            readers,
        })
    }

    /// Negotiates version and capabilities, and signs in.
    async fn initialize_and_sign_in(
        &mut self,
        authenticate: Option<&str>,
    ) -> Result<(), StartError> {
        match self.connection.initialize().await {
            Ok(InitializeOutcome::Supported(offers)) => self.capabilities = offers,
            Ok(InitializeOutcome::OtherVersion(answered)) => {
                return Err(StartError::Version {
                    protocol_version: answered,
                });
            }
            Err(error) => return Err(self.start_error(error).await),
        }
        let Some(method) = authenticate else {
            return Ok(());
        };
        let offered = &self.capabilities.auth_methods;
        if !offered
            .iter()
            .any(|known| known.id == method && !known.needs_terminal)
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
            CallError::ErrorReply(AgentError { code, message, .. }) => {
                StartError::Refused { code, message }
            }
            CallError::Closed => match self.diagnostics.unreadable() {
                Some(unreadable) => StartError::Unreadable(unreadable),
                None => StartError::AgentExited(self.early_exit().await),
            },
            CallError::Malformed(detail) => StartError::Malformed(detail),
        }
    }

    /// Returns the end of an agent whose output has ended. Waits up to [`EXIT_STATUS_TIMEOUT`] for its status.
    pub(crate) async fn early_exit(&self) -> EarlyExit {
        let mut state = self.process_state.clone();
        let ended = state.wait_for(|state| state.exit_status.is_some() || state.all_ended);
        timeout(EXIT_STATUS_TIMEOUT, ended).await.ok();
        let state = self.process_state.borrow().clone();
        EarlyExit {
            status: state.exit_status.unwrap_or(ExitStatus::Unknown),
            lease_expired: state.lease_expired,
            exceeded_limit: state.exceeded_limit,
            stderr_tail: self.diagnostics.stderr_tail(),
            noise_tail: self.diagnostics.noise_tail(),
        }
    }

    /// Kills the whole tree and waits until no process of it is left.
    async fn kill(self) {
        let mut state = self.process_state.clone();
        drop(self);
        state.wait_for(|state| state.all_ended).await.ok();
    }
}
