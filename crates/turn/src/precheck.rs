//! The precheck: runs its command under a guard, like an agent.

use std::path::PathBuf;

use agent::{Command, ExitStatus};
use model::{
    agent::ResourceLimits,
    limits,
    precheck::{PrecheckDecision, PrecheckExit, PrecheckJob},
    turn::TurnResult,
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use crate::{
    agent_runtime::AgentRuntime,
    failure_kind::{error_chain, truncate},
    heartbeat::{HeartbeatState, Stop},
    session_folder::create_session_folder,
    time_limits::{StepStopped, with_lease_renewal},
};

/// The result of running a precheck.
pub(crate) enum PrecheckOutcome {
    /// The command has ended, with any status or none.
    Completed(PrecheckReport),
    /// The command was stopped, because the run must not go on.
    Stopped(Stop),
    /// The guard killed the command, because its lease was not renewed.
    LeaseOver,
}

/// The reply of a precheck. Empty if the run has none.
#[derive(Debug, Default)]
pub(crate) struct PrecheckReport(Option<CommandResult>);

#[derive(Debug)]
struct CommandResult {
    command: Vec<String>,
    reply: PrecheckExit,
    output_tail: String,
}

impl PrecheckReport {
    /// Returns the verdict. Returns `None` if the run has no precheck.
    pub(crate) fn verdict(&self) -> Option<PrecheckDecision> {
        self.0.as_ref().map(|result| result.reply.decision())
    }

    /// Returns the diagnostics of the precheck for the run record.
    pub(crate) fn diagnostics(&self) -> Value {
        let result = self.0.as_ref().map(|result| {
            json!({
                "command": result.command,
                "ended": result.reply.to_string(),
                "output_tail": result.output_tail,
            })
        });
        json!({ "precheck": result })
    }

    /// Adds the precheck's diagnostics to the end of its turn, and flags an unclear verdict.
    pub(crate) fn add_to(&self, finished: &mut TurnResult) {
        let Some(verdict) = self.verdict() else {
            return;
        };
        finished.flags.precheck_unclear = verdict == PrecheckDecision::Unclear;
        finished.diagnostics["precheck"] = self.diagnostics()["precheck"].take();
    }
}

/// Runs the command until it ends or reaches its time limit. No process of the command is left when the function
/// returns.
pub(crate) async fn run_precheck(
    job: &PrecheckJob,
    agents: &AgentRuntime,
    mut heartbeat: watch::Receiver<HeartbeatState>,
) -> PrecheckOutcome {
    // 1. Prepare the command.
    let precheck = &job.precheck;
    let deadline = Instant::now() + precheck.timeout();
    let completed = |reply, output_tail| {
        PrecheckOutcome::Completed(PrecheckReport(Some(CommandResult {
            command: precheck.command.clone(),
            reply,
            output_tail,
        })))
    };
    if let Err(error) = create_session_folder(&job.directory).await {
        return completed(PrecheckExit::NotStarted(error_chain(&error)), String::new());
    }
    let command = Command {
        command: precheck.command.clone(),
        cwd: PathBuf::from(job.directory.path()),
        env: job.environment(&agents.environment),
        guard: agents.guard.clone(),
        marker: job.run.to_string(),
        lease: heartbeat.borrow().lease(),
        resources: ResourceLimits::default(),
    };
    // 2. Run the command within its time limit, and keep its lease renewed.
    let running = match command.start() {
        Ok(running) => running,
        Err(error) => {
            return completed(PrecheckExit::NotStarted(error_chain(&error)), String::new());
        }
    };
    let lease = running.lease();
    let waited = with_lease_renewal(Some(&lease), &mut heartbeat, deadline, running.wait()).await;
    // Read the status before the rest is killed: the status of the command's own process counts, even if its
    // descendants exceeded the time limit.
    let status = running.status();
    let end = running.kill().await;
    // 3. Classify the end. An order to stop and a lost lease come first, because then the status proves nothing about
    // the precheck.
    if let Err(StepStopped::Stop(stop)) = waited {
        return PrecheckOutcome::Stopped(stop);
    }
    if end.lease_expired {
        return PrecheckOutcome::LeaseOver;
    }
    let reply = match (end.start_error, status, waited) {
        (Some(why), ..) => PrecheckExit::NotStarted(truncate(why, limits::ERROR_BYTES)),
        (None, None, Err(_)) => PrecheckExit::Timeout,
        (None, Some(status), _) => to_reply(status),
        (None, None, Ok(())) => to_reply(end.status),
    };
    completed(reply, end.output_tail)
}

const fn to_reply(status: ExitStatus) -> PrecheckExit {
    match status {
        ExitStatus::Code(code) => PrecheckExit::Code(code),
        ExitStatus::Signal(signal) => PrecheckExit::Signal(signal),
        ExitStatus::Unknown => PrecheckExit::Unknown,
    }
}
