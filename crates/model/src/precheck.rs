//! Prechecks: commands that decide, before an occurrence's turn begins, whether the turn runs.
//!
//! A precheck saves the cost of a model call when there is nothing to do.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    agent::AgentConfig,
    ids::{AutomationId, RunId, SessionId},
    time::Timestamp,
    working_directory::WorkingDirectory,
};

/// The exit code that declines the turn.
const DECLINE_EXIT_CODE: i32 = 1;

/// The precheck policy of an automation: a command that runs before the turn of each occurrence.
///
/// Exit code 0 accepts the turn, and 1 declines it. After any other end the turn runs and is flagged as unclear,
/// because a broken precheck must not silence an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precheck {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The time limit of the command, in seconds.
    pub timeout_seconds: u32,
}

const fn default_timeout() -> u32 {
    60
}

impl Precheck {
    /// Returns a precheck with the default time limit, one minute.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            timeout_seconds: default_timeout(),
        }
    }

    /// Returns the time limit of the command.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    /// Returns `true` if the command names a program.
    pub(crate) fn has_program(&self) -> bool {
        self.command.first().is_some_and(|first| !first.is_empty())
    }
}

/// A precheck to run, with everything that its execution needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrecheckJob {
    /// The run, which a worker has claimed and whose turn has not begun.
    pub run: RunId,
    /// The session of the run.
    pub session: SessionId,
    /// The working directory.
    pub directory: WorkingDirectory,
    /// The automation of the run.
    pub automation: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// The due instant. If a person fired the automation: the instant of that request.
    pub scheduled_for: Option<Timestamp>,
    /// The precheck.
    pub precheck: Precheck,
}

impl PrecheckJob {
    /// Returns the whole environment of the command: the variables of `server` that every agent receives, and
    /// variables that describe the run.
    pub fn environment(&self, server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut environment = AgentConfig::new(Vec::new()).environment(server);
        let scheduled_for = self.scheduled_for.map(|at| at.to_string());
        environment.extend([
            (
                "MATINS_AUTOMATION_ID".to_owned(),
                self.automation.to_string(),
            ),
            ("MATINS_AUTOMATION_NAME".to_owned(), self.name.clone()),
            (
                "MATINS_SCHEDULED_FOR".to_owned(),
                scheduled_for.unwrap_or_default(),
            ),
        ]);
        environment
    }
}

/// The end of a precheck's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrecheckExit {
    /// The process exited with this code.
    Code(i32),
    /// This signal killed the process.
    Signal(i32),
    /// The process exceeded its time limit and was killed.
    Timeout,
    /// The process could not be started, for this reason.
    NotStarted(String),
    /// The status of the process could not be determined.
    Unknown,
}

/// The consequence of a precheck for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrecheckDecision {
    /// The turn runs.
    Accept,
    /// The occurrence is skipped.
    Decline,
    /// The turn runs, and the run is flagged with `precheck_unclear`.
    Unclear,
}

impl PrecheckExit {
    /// Returns the consequence for the turn.
    pub const fn decision(&self) -> PrecheckDecision {
        match self {
            Self::Code(0) => PrecheckDecision::Accept,
            Self::Code(DECLINE_EXIT_CODE) => PrecheckDecision::Decline,
            Self::Code(_)
            | Self::Signal(_)
            | Self::Timeout
            | Self::NotStarted(_)
            | Self::Unknown => PrecheckDecision::Unclear,
        }
    }
}

impl fmt::Display for PrecheckExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Timeout => f.write_str("timeout"),
            Self::NotStarted(reason) => write!(f, "not started: {reason}"),
            Self::Unknown => f.write_str("unknown status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn precheck_exit_code_decides_the_turn() {
        for (exit, decision) in [
            (PrecheckExit::Code(0), PrecheckDecision::Accept),
            (PrecheckExit::Code(1), PrecheckDecision::Decline),
            (PrecheckExit::Code(2), PrecheckDecision::Unclear),
            (PrecheckExit::Code(127), PrecheckDecision::Unclear),
            (PrecheckExit::Code(-1), PrecheckDecision::Unclear),
            (PrecheckExit::Signal(1), PrecheckDecision::Unclear),
            (PrecheckExit::Signal(9), PrecheckDecision::Unclear),
            (PrecheckExit::Timeout, PrecheckDecision::Unclear),
            (
                PrecheckExit::NotStarted("no such file".into()),
                PrecheckDecision::Unclear,
            ),
            (PrecheckExit::Unknown, PrecheckDecision::Unclear),
        ] {
            assert_eq!(exit.decision(), decision, "{exit}");
        }
    }

    #[test]
    fn precheck_environment_describes_its_run() {
        let server = [("PATH", "/bin"), ("SECRET", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let job = PrecheckJob {
            run: RunId::from_uuid(Uuid::from_u128(1)),
            session: SessionId::from_uuid(Uuid::from_u128(2)),
            directory: WorkingDirectory::Given("/work".into()),
            automation: AutomationId::from_uuid(Uuid::from_u128(3)),
            name: "report".into(),
            scheduled_for: Some("2026-05-04T09:00:00Z".parse().unwrap()),
            precheck: Precheck::new(vec!["true".into()]),
        };
        let environment = job.environment(&server);
        let shown: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            shown,
            [
                format!("MATINS_AUTOMATION_ID={}", job.automation),
                "MATINS_AUTOMATION_NAME=report".into(),
                "MATINS_SCHEDULED_FOR=2026-05-04T09:00:00Z".into(),
                "PATH=/bin".into(),
            ]
        );
    }

    #[test]
    fn precheck_timeout_defaults_to_one_minute() {
        let precheck = Precheck::new(vec!["true".into()]);
        assert_eq!(precheck.timeout(), Duration::from_mins(1));
    }
}
