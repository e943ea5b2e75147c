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

use agent::{Agent, Exit, Grace, Launch, Limits, guard};
use model::{
    RunId,
    outcome::{Failure, FailureKind, Outcome},
    turn::{Assignment, Finished, Settled},
};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    agents::Agents,
    begin::{Begun, begin},
    conversation::{End, Listener, Setting, converse},
    failure::{Classified, chain},
    finish::{Ended, finish, persist},
    ledger::{Ledger, TurnStoreError},
    own_folder::create_session_folder,
    patience::{Stopped, attended},
    permissions::RulePermissions,
    pulse::{Orders, Pulse, Stop, beat},
    recorder::{Recorded, Recorder},
    warn,
};

/// The grace for the agent of a run that this worker has lost. Another worker may claim the run at any moment, and
/// two agents must not work on one session.
const AT_ONCE: Grace = Grace {
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
/// Returns an error if the run cannot be begun or finished in the ledger.
pub async fn execute(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    orders: &Orders,
) -> Result<Ended, TurnStoreError> {
    let (sender, pulse) = watch::channel(Pulse {
        lease_until: agent::uptime() + agents.lease,
        stop: None,
    });
    // 1. Begin, after the precheck.
    let (assignment, asked) = match begin(ledger, agents, run, orders, &sender).await? {
        Begun::Started(assignment, asked) => (assignment, asked),
        Begun::Ended(ended) => return Ok(ended),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: begun");
    // 2. Take the turn and write its end.
    let turn = async {
        let finished = Turn {
            ledger,
            agents,
            assignment: &assignment,
            pulse,
        }
        .take()
        .await;
        match finished {
            Some(mut finished) => {
                asked.note(&mut finished);
                finish(ledger, run, finished, agents.lease).await
            }
            None => Ok(Ended::Lost),
        }
    };
    // 3. Renew the heartbeat until the end is written, so that no other worker claims the run meanwhile.
    let heartbeat = beat(ledger, run, orders, agents.heartbeat, agents.lease, &sender);
    tokio::select! {
        ended = turn => ended,
        // `beat` never returns, even after the run is lost, because the turn must first stop its agent.
        () = heartbeat => Ok(Ended::Lost),
    }
}

/// A turn in progress.
struct Turn<'a> {
    ledger: &'a dyn Ledger,
    agents: &'a Agents,
    assignment: &'a Assignment,
    pulse: watch::Receiver<Pulse>,
}

impl Turn<'_> {
    /// Takes the turn. Returns `None` if this worker has lost the run.
    async fn take(mut self) -> Option<Finished> {
        // 1. Start the agent.
        let deadline = Instant::now() + self.assignment.policies.timeout();
        let (rules, asked) = RulePermissions::of(self.assignment);
        let started = match self.start(rules, deadline).await {
            Ok(agent) => agent,
            Err(early) => {
                kill_leftovers(self.assignment.run.id).await;
                return give_up(early, &Value::Null);
            }
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: agent started");
        // 2. Open its session.
        let opened = self.open(&started, deadline).await;
        let id = match opened {
            Ok(id) => id,
            Err(early) => {
                let grace = match early.stopped {
                    Some(Stop::Lost) => AT_ONCE,
                    _ => self.agents.grace,
                };
                let exit = started.shutdown(grace).await;
                return give_up(early, &process(&exit));
            }
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: session opened");
        // 3. Prompt it and record its updates.
        let Agents { clock, entropy, .. } = self.agents;
        let recorder = Recorder::new(
            Arc::clone(clock),
            Arc::clone(entropy),
            &self.assignment.seat,
        );
        let (told, mut listener) = Listener::new(recorder);
        let setting = Setting {
            ledger: self.ledger,
            run: self.assignment.run.id,
            policies: &self.assignment.policies,
            deadline,
            pulse: self.pulse.clone(),
            accounts: self.assignment.accounts.clone(),
            usage_write_interval: self.agents.heartbeat / 4,
            cancel_grace: self.agents.grace.cancel,
        };
        let prompt = &self.assignment.prompt.text;
        let end = converse(&started, prompt, told, &mut listener, asked, setting).await;
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: answered");
        if matches!(end, End::Stopped(Stop::Lost, _)) {
            started.shutdown(AT_ONCE).await;
            return None;
        }
        // 4. Shut the agent down, and record meanwhile: some agents send their last updates after the answer.
        let exit = listener.listen_during(self.shutdown(started)).await;
        #[cfg(feature = "failpoints")]
        failpoint::reached("turn: agent shut down");
        self.finished(end, id, listener.recorder, &exit).await
    }

    /// Starts the agent once its session may be restored. The heartbeat's lease keeps the agent alive meanwhile.
    async fn start(&mut self, rules: RulePermissions, deadline: Instant) -> Result<Agent, Early> {
        let assignment = self.assignment;
        let config = &assignment.agent.config;
        let settled = self.settled();
        attended(None, &mut self.pulse, deadline, settled).await?;
        let cwd = PathBuf::from(&assignment.session.cwd);
        create_session_folder(&cwd, &assignment.session.id.to_string());
        let launch = Launch {
            command: config.command.clone(),
            cwd,
            env: config.environment(&self.agents.environment),
            guard: self.agents.guard.clone(),
            marker: assignment.run.id.to_string(),
            limits: Limits {
                start: Duration::from_secs(config.start_seconds.into()),
                restore: Duration::from_secs(config.restore_seconds.into()),
                ..Limits::default()
            },
            lease: self.pulse.borrow().lease(),
            resources: config.limits,
            authenticate: config.authenticate.clone(),
        };
        let launched = Agent::launch(launch, Arc::new(rules)).await;
        let starting = launched.map_err(|error| Early::failed(&error))?;
        let lease = starting.lease();
        let started = attended(Some(&lease), &mut self.pulse, deadline, starting.ready()).await?;
        started.map_err(|error| Early::failed(&error))
    }

    /// Waits until the session is old enough to be restored, if the agent sets such an age. Only a session that has
    /// had exactly one turn needs the wait.
    fn settled(&self) -> impl Future<Output = ()> + use<> {
        let (seat, clock) = (&self.assignment.seat, Arc::clone(&self.agents.clock));
        let age = self.assignment.agent.config.restore_after_seconds;
        let waits = seat.acp_session_id.is_some() && seat.turns == 1;
        let from = seat.updated_at + Duration::from_secs(age.into());
        async move {
            while waits && clock.now() < from {
                sleep(from.since(clock.now()).min(SETTLE_POLL_INTERVAL)).await;
            }
        }
    }

    /// Opens the seat's session: restores the agent's memory if the seat has one, and creates a session otherwise.
    /// Then applies mode and settings.
    async fn open(
        &mut self,
        agent: &Agent,
        deadline: Instant,
    ) -> Result<model::AcpSessionId, Early> {
        let assignment = self.assignment;
        let config = &assignment.agent.config;
        let cwd = Path::new(&assignment.session.cwd);
        let open = async {
            match &assignment.seat.acp_session_id {
                None => agent.new_session(cwd, &[]).await,
                Some(memory) => agent.restore(memory, cwd, &[], config.restore).await,
            }
        };
        let lease = agent.lease();
        let opened = attended(Some(&lease), &mut self.pulse, deadline, open).await?;
        let opened = opened.map_err(|error| Early::failed(&error))?;

        // The seat's own mode and settings take precedence over those of the agent.
        let seat = &assignment.seat.settings;
        let mode = seat.mode.as_deref().or(config.mode.as_deref());
        let mut settings = config.settings.clone();
        settings.extend(seat.values.clone());
        let apply = agent.apply_settings(mode, &settings);
        let applied = attended(Some(&lease), &mut self.pulse, deadline, apply).await?;
        applied.map_err(|error| Early::failed(&error))?;
        Ok(opened.id)
    }

    /// Shuts the agent down gently, and keeps it alive for that time.
    async fn shutdown(&mut self, agent: Agent) -> Exit {
        // One renewal suffices, because the lease is longer than all steps together. If heartbeats are configured to
        // become stale within seconds, the guard kills an agent that takes longer.
        agent.lease().renew(self.pulse.borrow().lease()).ok();
        agent.shutdown(self.agents.grace).await
    }

    /// Returns the end of a turn whose prompt was sent. Returns `None` if this worker has lost the run.
    async fn finished(
        &self,
        end: End,
        id: model::AcpSessionId,
        recorder: Recorder,
        exit: &Exit,
    ) -> Option<Finished> {
        // 1. Write the last rows. If the ledger stays unreachable, the end of the run matters more than these rows.
        let recorded = recorder.end();
        let run = self.assignment.run.id;
        if !recorded.pending.is_empty() {
            let write = || self.ledger.record(run, recorded.pending.clone());
            match persist(run, self.agents.lease, write).await {
                Ok(Settled::Written) => {}
                Ok(Settled::Lost) => return None,
                Err(error) => {
                    warn(run, &error, "record the last");
                }
            }
        }
        // 2. Determine the outcome, and whether the agent ended its turn, so that its session counts as the seat's
        // memory.
        let failed = |kind, message: &str| {
            Outcome::Failed(Failure {
                kind,
                prompted: true,
                message: message.into(),
            })
        };
        let policies = &self.assignment.policies;
        let mut error = None;
        let (outcome, turn_ended) = match end {
            End::Answered(Ok(reason)) => (Outcome::Stopped(reason), true),
            End::Answered(Err(failure)) => {
                error = Some(chain(&failure));
                (Outcome::Failed(failure.failure(true)), false)
            }
            End::Stopped(Stop::Cancel(reason), ended) => (Outcome::Cancelled(reason), ended),
            End::Stopped(Stop::Requeue, ended) => {
                (failed(FailureKind::Requeued, "the server stopped"), ended)
            }
            End::Stopped(Stop::Lost, _) => return None,
            End::Inactive(ended) => {
                let text = format!("the agent was silent for {} s", policies.inactivity_seconds);
                (failed(FailureKind::Inactive, &text), ended)
            }
            End::Timeout(ended) => {
                let text = format!("the turn took longer than {} s", policies.timeout_seconds);
                (failed(FailureKind::Timeout, &text), ended)
            }
            End::Budget(said, ended) => (failed(FailureKind::Budget, &said), ended),
        };
        let Recorded {
            answer,
            flags,
            usage,
            title,
            diagnostics,
            ..
        } = recorded;
        Some(Finished {
            outcome,
            answer,
            acp_session_id: Some(id),
            turn_ended,
            flags,
            usage,
            title,
            diagnostics: json!({ "process": process(exit), "updates": diagnostics }),
            error,
        })
    }
}

/// Waits until no process is left of an agent whose start failed. Its guard is killing them already; the sweep covers
/// a guard that was killed itself.
async fn kill_leftovers(run: RunId) {
    let swept = tokio::task::spawn_blocking(move || guard::sweep(&run.to_string())).await;
    if let Err(error) = swept.map_err(io::Error::other).flatten() {
        tracing::error!(%run, %error, "failed to kill what {run} has left");
    }
}

/// Returns the end of a turn that failed before its prompt, with the diagnostics of its process. Returns `None` if
/// this worker has lost the run.
fn give_up(early: Early, process: &Value) -> Option<Finished> {
    let outcome = match early.stopped {
        Some(Stop::Lost) => return None,
        Some(Stop::Cancel(reason)) => Outcome::Cancelled(reason),
        Some(Stop::Requeue) | None => Outcome::Failed(early.failure),
    };
    Some(Finished {
        diagnostics: json!({ "process": process }),
        error: early.error,
        ..Finished::bare(outcome)
    })
}

/// The reason why a turn ended before its prompt.
struct Early {
    stopped: Option<Stop>,
    failure: Failure,
    error: Option<String>,
}

impl Early {
    fn failed(error: &impl Classified) -> Self {
        Self {
            stopped: None,
            failure: error.failure(false),
            error: Some(chain(error)),
        }
    }
}

impl From<Stopped> for Early {
    fn from(stopped: Stopped) -> Self {
        let (stopped, kind, message) = match stopped {
            Stopped::Order(stop) => (Some(stop), FailureKind::Requeued, "the server stopped"),
            Stopped::Timeout => (
                None,
                FailureKind::Timeout,
                "the turn's time was over before its prompt",
            ),
        };
        let failure = Failure {
            kind,
            prompted: false,
            message: message.into(),
        };
        Self {
            stopped,
            failure,
            error: None,
        }
    }
}

/// Returns the diagnostics of an agent's process for the run record.
fn process(exit: &Exit) -> Value {
    json!({
        "status": exit.status.to_string(),
        "ended_by": format!("{:?}", exit.how).to_lowercase(),
        "lease_over": exit.lease_over,
        "excess": exit.excess.map(|excess| excess.to_string()),
        "stderr_tail": exit.stderr_tail,
        "noise_tail": exit.noise_tail,
        "dropped_lines": exit.dropped_lines,
    })
}
