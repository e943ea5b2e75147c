//! The precheck: runs its command under a guard, as an agent.

use std::path::PathBuf;

use agent::{Command, Status};
use model::{
    agent::ResourceLimits,
    limits,
    precheck::{Question, Reply, Verdict},
    turn::Finished,
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use crate::{
    agents::Agents,
    failure::{chain, cut},
    own_folder::create_session_folder,
    patience::{Stopped, attended},
    pulse::{Pulse, Stop},
};

/// The result of running a precheck.
pub(crate) enum Answer {
    /// The command has ended, with any status or none.
    Given(Asked),
    /// The command was stopped, because the run must not go on.
    Stopped(Stop),
    /// The guard killed the command, because its lease was not renewed.
    LeaseOver,
}

/// The reply of a precheck. Empty if the run has none.
#[derive(Debug, Default)]
pub(crate) struct Asked(Option<Said>);

#[derive(Debug)]
struct Said {
    command: Vec<String>,
    reply: Reply,
    output_tail: String,
}

impl Asked {
    /// Returns the verdict. Returns `None` if the run has no precheck.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.0.as_ref().map(|said| said.reply.verdict())
    }

    /// Returns the diagnostics of the precheck for the run record.
    pub(crate) fn diagnostics(&self) -> Value {
        let said = self.0.as_ref().map(|said| {
            json!({
                "command": said.command,
                "ended": said.reply.to_string(),
                "output_tail": said.output_tail,
            })
        });
        json!({ "precheck": said })
    }

    /// Adds the precheck's diagnostics to the end of its turn, and flags an unclear verdict.
    pub(crate) fn note(&self, finished: &mut Finished) {
        let Some(verdict) = self.verdict() else {
            return;
        };
        finished.flags.precheck_unclear = verdict == Verdict::Unclear;
        finished.diagnostics["precheck"] = self.diagnostics()["precheck"].take();
    }
}

/// Runs the command until it ends or reaches its time limit. No process of the command is left when the function
/// returns.
pub(crate) async fn ask(
    question: &Question,
    agents: &Agents,
    mut pulse: watch::Receiver<Pulse>,
) -> Answer {
    let precheck = &question.precheck;
    let deadline = Instant::now() + precheck.timeout();
    let said = |reply, output_tail| {
        Answer::Given(Asked(Some(Said {
            command: precheck.command.clone(),
            reply,
            output_tail,
        })))
    };
    let cwd = PathBuf::from(&question.cwd);
    create_session_folder(&cwd, &question.session.to_string());
    let command = Command {
        command: precheck.command.clone(),
        cwd,
        env: question.environment(&agents.environment),
        guard: agents.guard.clone(),
        marker: question.run.to_string(),
        lease: pulse.borrow().lease(),
        resources: ResourceLimits::default(),
    };
    let running = match command.start() {
        Ok(running) => running,
        Err(error) => return said(Reply::NotStarted(chain(&error)), String::new()),
    };
    let lease = running.lease();
    let waited = attended(Some(&lease), &mut pulse, deadline, running.ended()).await;
    // Read the status before the rest is killed: the status of the command's own process counts, even if its
    // descendants exceeded the time limit.
    let status = running.status();
    let end = running.end().await;
    if let Err(Stopped::Order(stop)) = waited {
        return Answer::Stopped(stop);
    }
    if end.lease_over {
        return Answer::LeaseOver;
    }
    let reply = match (end.failed, status, waited) {
        (Some(why), ..) => Reply::NotStarted(cut(why, limits::ERROR_BYTES)),
        (None, None, Err(_)) => Reply::Timeout,
        (None, Some(status), _) => reply(status),
        (None, None, Ok(())) => reply(end.status),
    };
    said(reply, end.output_tail)
}

const fn reply(status: Status) -> Reply {
    match status {
        Status::Code(code) => Reply::Code(code),
        Status::Signal(signal) => Reply::Signal(signal),
        Status::Unknown => Reply::Unknown,
    }
}
