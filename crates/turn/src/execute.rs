//! The execution of one run, from top to bottom.
//!
//! [`execute`] begins the run and renews its heartbeat beside the turn; `Turn` takes the steps of the turn in order.
//! No process of the agent outlives [`execute`].

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::{Agent, Exit, GracePeriods, Launch, Limits, McpServer, guard};
use model::{
    RunId,
    access::secret::RunSecret,
    outcome::{FailureKind, Outcome, RunFailure},
    tools::ToolAccess,
    turn::{TurnAssignment, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    agent_runtime::AgentRuntime,
    begin::{StartOutcome, begin},
    boxed,
    conversation::{ConversationContext, PromptEnd, UpdateListener, converse},
    failure_kind::{ClassifyFailure, error_chain},
    finish::{TurnEnd, finish, persist},
    heartbeat::{HeartbeatState, Stop, TurnControl, send_heartbeats},
    log_warning,
    masked_store::MaskedStore,
    permissions::RulePermissions,
    recorder::{RecordedTurn, Recorder},
    session_folder::create_session_folder,
    time_limits::{StepStopped, with_lease_renewal},
    tool_grants::ToolGrant,
    turn_store::{TurnStore, TurnStoreError},
};

/// The grace for the agent of a run that this worker has lost. Another worker may claim the run at any moment, and
/// two agents must not work on one session.
const NO_GRACE: GracePeriods = GracePeriods {
    cancel: Duration::ZERO,
    close: Duration::ZERO,
    eof: Duration::ZERO,
    term: Duration::ZERO,
};

/// The pause between two readings of the wall clock while a session settles. One long sleep would ignore a clock that
/// is set meanwhile.
const SETTLE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Executes the turn of a run that this worker has claimed. No process of the agent is left when the function
/// returns.
///
/// # Errors
///
/// Returns an error if the run cannot be begun or finished in the store.
#[boxed]
pub async fn execute(
    store: &dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    control: &TurnControl,
) -> Result<TurnEnd, TurnStoreError> {
    let (sender, heartbeat_state) = watch::channel(HeartbeatState {
        lease_until: control.claim_sent_at + agents.lease,
        stop: None,
    });
    // 1. Begin, after the precheck.
    let secret = RunSecret::generate(&*agents.entropy);
    let masked = MaskedStore::new(store, &secret);
    let store: &dyn TurnStore = &masked;
    let started = begin(store, agents, run, &secret, control, &sender).await?;
    let (assignment, precheck) = match started {
        StartOutcome::Started(assignment, precheck) => (assignment, precheck),
        StartOutcome::Ended(ended) => return Ok(ended),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: begun");
    // 2. Take the turn and write its end. The agent has its tools until its processes are gone.
    let turn = async {
        let finished = Turn {
            store,
            agent_runtime: agents,
            assignment: &assignment,
            secret: &secret,
            heartbeat: heartbeat_state,
        }
        .run()
        .await;
        match finished {
            Some(mut finished) => {
                precheck.add_to(&mut finished);
                finish(store, run, finished, agents.lease).await
            }
            None => Ok(TurnEnd::Lost),
        }
    };
    // 3. Renew the heartbeat until the end is written, so that no other worker claims the run meanwhile.
    let heartbeat = send_heartbeats(store, run, control, agents.heartbeat, agents.lease, &sender);
    tokio::select! {
        ended = turn => ended,
        // `send_heartbeats` never returns, even after the run is lost, because the turn must first stop its agent.
        () = heartbeat => Ok(TurnEnd::Lost),
    }
}

/// A turn in progress.
struct Turn<'a> {
    store: &'a dyn TurnStore,
    agent_runtime: &'a AgentRuntime,
    assignment: &'a TurnAssignment,
    secret: &'a RunSecret,
    heartbeat: watch::Receiver<HeartbeatState>,
}

impl Turn<'_> {
    /// Takes the turn. Returns `None` if this worker has lost the run.
    async fn run(mut self) -> Option<TurnResult> {
        // 1. Start the agent.
        let began = Instant::now();
        let deadline = began + self.assignment.policies.timeout();
        let (rules, requests) = RulePermissions::from_assignment(self.assignment);
        let grant = match self.grant_tools() {
            Ok(grant) => grant,
            Err(early) => return finish_early(early, &Value::Null),
        };
        let servers: Vec<_> = grant.iter().map(ToolGrant::server).collect();
        let started = match self.start_agent(rules, deadline).await {
            Ok(agent) => agent,
            Err(early) => {
                kill_leftovers(self.assignment.run).await;
                return finish_early(early, &Value::Null);
            }
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: agent started");
        // 2. Open its session.
        let opened = self.open_session(&started, &servers, deadline).await;
        let id = match opened {
            Ok(id) => id,
            Err(early) => {
                let grace = match early.stopped {
                    Some(Stop::Lost) => NO_GRACE,
                    _ => self.agent_runtime.grace,
                };
                let exit = started.shutdown(grace).await;
                return finish_early(early, &process_diagnostics(&exit));
            }
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: session opened");
        // 3. Prompt it and record its updates.
        let AgentRuntime { clock, entropy, .. } = self.agent_runtime;
        let recorder = Recorder::new(
            Arc::clone(clock),
            Arc::clone(entropy),
            &self.assignment.memory,
        );
        let (updates, mut listener) = UpdateListener::new(recorder);
        let context = ConversationContext {
            store: self.store,
            run: self.assignment.run,
            policies: &self.assignment.policies,
            deadline,
            began,
            heartbeat: self.heartbeat.clone(),
            accounts: self.assignment.accounts.clone(),
            usage_write_interval: self.agent_runtime.heartbeat / 4,
            cancel_grace: self.agent_runtime.grace.cancel,
        };
        let prompt: Vec<&str> = self.assignment.prompt.iter().map(String::as_str).collect();
        let end = converse(&started, &prompt, updates, &mut listener, requests, context).await;
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: answered");
        if matches!(end, PromptEnd::Stopped(Stop::Lost, _)) {
            started.shutdown(NO_GRACE).await;
            return None;
        }
        // 4. Shut the agent down, and record meanwhile: some agents send their last updates after the answer.
        let exit = listener.listen_during(self.shut_down_agent(started)).await;
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: agent shut down");
        self.build_finished(end, id, listener.recorder, &exit).await
    }

    /// Grants the agent its tools, if it gets any.
    fn grant_tools(&self) -> Result<Option<ToolGrant>, EarlyEnd> {
        let access = self.assignment.tools();
        let grants = self.agent_runtime.tools.as_ref();
        let Some(grants) = grants.filter(|_| access != ToolAccess::None) else {
            return Ok(None);
        };
        let directory = self.assignment.directory.path();
        let granted = grants.grant(self.assignment.run, self.secret, directory);
        granted.map(Some).map_err(|error| EarlyEnd {
            stopped: None,
            run_failure: RunFailure {
                kind: FailureKind::Internal,
                prompted: false,
                message: format!("cannot write the file of the agent's tools: {error}"),
            },
            error: None,
        })
    }

    /// Starts the agent once its session may be restored. The heartbeat's lease keeps the agent alive meanwhile.
    async fn start_agent(
        &mut self,
        rules: RulePermissions,
        deadline: Instant,
    ) -> Result<Agent, EarlyEnd> {
        let assignment = self.assignment;
        let config = &assignment.agent;
        let settled = self.wait_until_restorable();
        with_lease_renewal(None, &mut self.heartbeat, deadline, settled).await?;
        let created = create_session_folder(&assignment.directory).await;
        created.map_err(|error| EarlyEnd::from_error(&error))?;
        let launch = Launch {
            command: config.command.clone(),
            cwd: PathBuf::from(assignment.directory.path()),
            env: config.environment(&self.agent_runtime.environment),
            guard: self.agent_runtime.guard.clone(),
            marker: assignment.run.to_string(),
            limits: Limits {
                start: Duration::from_secs(config.start_seconds.into()),
                restore: Duration::from_secs(config.restore_seconds.into()),
                ..Limits::default()
            },
            lease: self.heartbeat.borrow().lease(),
            resources: config.limits,
            authenticate: config.authenticate.clone(),
        };
        let launched = Agent::launch(launch, Arc::new(rules)).await;
        let starting = launched.map_err(|error| EarlyEnd::from_error(&error))?;
        let lease = starting.lease();
        let started = with_lease_renewal(
            Some(&lease),
            &mut self.heartbeat,
            deadline,
            starting.negotiate(),
        )
        .await?;
        started.map_err(|error| EarlyEnd::from_error(&error))
    }

    /// Waits until the session is old enough to be restored, if the agent sets such an age. Only a session that has
    /// had exactly one turn needs the wait.
    fn wait_until_restorable(&self) -> impl Future<Output = ()> + use<> {
        let clock = Arc::clone(&self.agent_runtime.clock);
        let memory = &self.assignment.memory;
        let age = self.assignment.agent.restore_after_seconds;
        let waits = memory.acp_session_id.is_some() && memory.turns == 1;
        let from = memory.updated_at + Duration::from_secs(age.into());
        async move {
            while waits && clock.now() < from {
                sleep(from.since(clock.now()).min(SETTLE_POLL_INTERVAL)).await;
            }
        }
    }

    /// Opens the seat's session: restores the agent's memory if the seat has one, and creates a session otherwise.
    /// Then applies mode and settings.
    async fn open_session(
        &mut self,
        agent: &Agent,
        servers: &[McpServer],
        deadline: Instant,
    ) -> Result<model::AcpSessionId, EarlyEnd> {
        let assignment = self.assignment;
        let config = &assignment.agent;
        let cwd = Path::new(assignment.directory.path());
        let open = async {
            match &assignment.memory.acp_session_id {
                None => agent.new_session(cwd, servers).await,
                Some(memory) => agent.restore(memory, cwd, servers, config.restore).await,
            }
        };
        let lease = agent.lease();
        let opened = with_lease_renewal(Some(&lease), &mut self.heartbeat, deadline, open).await?;
        let opened = opened.map_err(|error| EarlyEnd::from_error(&error))?;

        // The seat's own mode and settings take precedence over those of the agent.
        let seat = &assignment.memory.settings;
        let mode = seat.mode.as_deref().or(config.mode.as_deref());
        let mut settings = config.settings.clone();
        settings.extend(seat.values.clone());
        let apply = agent.apply_settings(mode, &settings);
        let applied =
            with_lease_renewal(Some(&lease), &mut self.heartbeat, deadline, apply).await?;
        applied.map_err(|error| EarlyEnd::from_error(&error))?;
        Ok(opened.id)
    }

    /// Shuts the agent down gently, and keeps it alive for that time.
    async fn shut_down_agent(&mut self, agent: Agent) -> Exit {
        // One renewal suffices, because the lease is longer than all steps together. If heartbeats are configured to
        // become stale within seconds, the guard kills an agent that takes longer.
        agent.lease().renew(self.heartbeat.borrow().lease()).ok();
        agent.shutdown(self.agent_runtime.grace).await
    }

    /// Returns the end of a turn whose prompt was sent. Returns `None` if this worker has lost the run.
    async fn build_finished(
        &self,
        end: PromptEnd,
        id: model::AcpSessionId,
        recorder: Recorder,
        exit: &Exit,
    ) -> Option<TurnResult> {
        // 1. Write the last rows. If the store stays unreachable, the end of the run matters more than these rows.
        let recorded = recorder.end();
        let run = self.assignment.run;
        if !recorded.pending.is_empty() {
            let write = || self.store.record(run, recorded.pending.clone());
            match persist(run, self.agent_runtime.lease, write).await {
                Ok(WriteOutcome::Committed) => {}
                Ok(WriteOutcome::Fenced) => return None,
                Err(error) => {
                    log_warning(run, &error, "record the last rows");
                }
            }
        }
        // 2. Determine the outcome, and whether the agent ended its turn, so that its session counts as the seat's
        // memory.
        let failed = |kind, message: &str| {
            Outcome::Failed(RunFailure {
                kind,
                prompted: true,
                message: message.into(),
            })
        };
        let policies = &self.assignment.policies;
        let mut error = None;
        let (outcome, turn_ended) = match end {
            PromptEnd::Completed(Ok(reason)) => (Outcome::Stopped(reason), true),
            PromptEnd::Completed(Err(failure)) => {
                error = Some(error_chain(&failure));
                (Outcome::Failed(failure.to_run_failure(true)), false)
            }
            PromptEnd::Stopped(Stop::Cancel(reason), ended) => (Outcome::Cancelled(reason), ended),
            PromptEnd::Stopped(Stop::Requeue, ended) => {
                (failed(FailureKind::Requeued, "the server stopped"), ended)
            }
            PromptEnd::Stopped(Stop::Lost, _) => return None,
            PromptEnd::Inactive(ended) => {
                let text = format!("the agent was silent for {} s", policies.inactivity_seconds);
                (failed(FailureKind::Inactive, &text), ended)
            }
            PromptEnd::Timeout(ended) => {
                let text = format!("the turn took longer than {} s", policies.timeout_seconds);
                (failed(FailureKind::Timeout, &text), ended)
            }
            PromptEnd::Budget(text, ended) => (failed(FailureKind::Budget, &text), ended),
        };
        let RecordedTurn {
            answer,
            flags,
            usage,
            title,
            diagnostics,
            ..
        } = recorded;
        Some(TurnResult {
            outcome,
            answer,
            acp_session_id: Some(id),
            turn_ended,
            flags,
            usage,
            title,
            diagnostics: json!({ "process": process_diagnostics(exit), "updates": diagnostics }),
            error,
        })
    }
}

/// Waits until no process is left of an agent whose start failed. Its guard is killing them already; the sweep covers
/// a guard that was killed itself.
async fn kill_leftovers(run: RunId) {
    let swept = tokio::task::spawn_blocking(move || guard::sweep(&run.to_string())).await;
    if let Err(error) = swept.map_err(io::Error::other).flatten() {
        tracing::error!(%run, %error, "cannot kill the leftover processes of {run}");
    }
}

/// Returns the end of a turn that failed before its prompt, with the diagnostics of its process. Returns `None` if
/// this worker has lost the run.
fn finish_early(early: EarlyEnd, process: &Value) -> Option<TurnResult> {
    let outcome = match early.stopped {
        Some(Stop::Lost) => return None,
        Some(Stop::Cancel(reason)) => Outcome::Cancelled(reason),
        Some(Stop::Requeue) | None => Outcome::Failed(early.run_failure),
    };
    Some(TurnResult {
        diagnostics: json!({ "process": process }),
        error: early.error,
        ..TurnResult::with_outcome(outcome)
    })
}

/// The reason why a turn ended before its prompt.
struct EarlyEnd {
    stopped: Option<Stop>,
    run_failure: RunFailure,
    error: Option<String>,
}

impl EarlyEnd {
    fn from_error(error: &impl ClassifyFailure) -> Self {
        Self {
            stopped: None,
            run_failure: error.to_run_failure(false),
            error: Some(error_chain(error)),
        }
    }
}

impl From<StepStopped> for EarlyEnd {
    fn from(stopped: StepStopped) -> Self {
        let (stopped, kind, message) = match stopped {
            StepStopped::Stop(stop) => (Some(stop), FailureKind::Requeued, "the server stopped"),
            StepStopped::Timeout => (
                None,
                FailureKind::Timeout,
                "the turn reached its time limit before its prompt",
            ),
        };
        let failure = RunFailure {
            kind,
            prompted: false,
            message: message.into(),
        };
        Self {
            stopped,
            run_failure: failure,
            error: None,
        }
    }
}

/// Returns the diagnostics of an agent's process for the run record.
fn process_diagnostics(exit: &Exit) -> Value {
    json!({
        "status": exit.status.to_string(),
        "ended_by": format!("{:?}", exit.step).to_lowercase(),
        "lease_over": exit.lease_expired,
        "excess": exit.exceeded_limit.map(|excess| excess.to_string()),
        "stderr_tail": exit.stderr_tail,
        "noise_tail": exit.noise_tail,
        "dropped_lines": exit.dropped_lines,
    })
}
