//! Prechecks: a command that is asked before the model whether a turn is worth taking.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    harness::HarnessConfig,
    ids::{AutomationId, RunId, SessionId},
    time::Timestamp,
};

/// The exit code by which a precheck declines.
const DECLINES: i32 = 1;

/// A command that is run before an occurrence's turn. It is a policy, so it holds for one automation.
///
/// Exit code 0 takes the turn, and 1 declines it. However else it ends, the turn is taken: a check
/// that is broken must not keep an automation silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precheck {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The longest that it may take, in seconds.
    pub timeout_seconds: u32,
}

const fn default_timeout() -> u32 {
    60
}

impl Precheck {
    /// A precheck with the default limit of time.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            timeout_seconds: default_timeout(),
        }
    }

    /// The longest that it may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    /// Whether it names a program.
    pub(crate) fn has_program(&self) -> bool {
        self.command.first().is_some_and(|first| !first.is_empty())
    }
}

/// A precheck that is to be asked about one run, with all that asking takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The run, claimed and not begun.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The session's working directory.
    pub cwd: String,
    /// The automation.
    pub automation: AutomationId,
    /// The automation's name.
    pub name: String,
    /// The due instant; of a run on demand, when it was asked for.
    pub scheduled_for: Option<Timestamp>,
    /// What is asked.
    pub precheck: Precheck,
}

impl Question {
    /// The command's whole environment: what every agent gets of `server`'s, and what is asked about.
    pub fn environment(&self, server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut environment = HarnessConfig::new(Vec::new()).environment(server);
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

/// How a precheck ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It was killed, because its time was over.
    Timeout,
    /// It could not be started, with the reason.
    NotStarted(String),
    /// It cannot be known.
    Unknown,
}

/// What follows from how a precheck ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The turn is taken.
    Take,
    /// The occurrence is skipped.
    Decline,
    /// The turn is taken, and that nobody knows whether it should have been is recorded.
    Unclear,
}

impl Reply {
    /// What follows.
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Code(0) => Verdict::Take,
            Self::Code(DECLINES) => Verdict::Decline,
            Self::Code(_)
            | Self::Signal(_)
            | Self::Timeout
            | Self::NotStarted(_)
            | Self::Unknown => Verdict::Unclear,
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Timeout => f.write_str("timeout"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
            Self::Unknown => f.write_str("unknown status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn zero_takes_the_turn_one_declines_it_and_anything_else_takes_it_unclear() {
        for (reply, verdict) in [
            (Reply::Code(0), Verdict::Take),
            (Reply::Code(1), Verdict::Decline),
            (Reply::Code(2), Verdict::Unclear),
            (Reply::Code(127), Verdict::Unclear),
            (Reply::Code(-1), Verdict::Unclear),
            (Reply::Signal(1), Verdict::Unclear),
            (Reply::Signal(9), Verdict::Unclear),
            (Reply::Timeout, Verdict::Unclear),
            (Reply::NotStarted("no such file".into()), Verdict::Unclear),
            (Reply::Unknown, Verdict::Unclear),
        ] {
            assert_eq!(reply.verdict(), verdict, "{reply}");
        }
    }

    #[test]
    fn a_precheck_gets_what_agents_get_and_what_it_is_asked_about() {
        let server = [("PATH", "/bin"), ("SECRET", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let question = Question {
            run: RunId::from_uuid(Uuid::from_u128(1)),
            session: SessionId::from_uuid(Uuid::from_u128(2)),
            cwd: "/work".into(),
            automation: AutomationId::from_uuid(Uuid::from_u128(3)),
            name: "report".into(),
            scheduled_for: Some("2026-05-04T09:00:00Z".parse().unwrap()),
            precheck: Precheck::new(vec!["true".into()]),
        };
        let environment = question.environment(&server);
        let shown: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            shown,
            [
                format!("MATINS_AUTOMATION_ID={}", question.automation),
                "MATINS_AUTOMATION_NAME=report".into(),
                "MATINS_SCHEDULED_FOR=2026-05-04T09:00:00Z".into(),
                "PATH=/bin".into(),
            ]
        );
    }

    #[test]
    fn a_precheck_has_a_minute_unless_it_says_otherwise() {
        let precheck = Precheck::new(vec!["true".into()]);
        assert_eq!(precheck.timeout(), Duration::from_mins(1));
    }
}
