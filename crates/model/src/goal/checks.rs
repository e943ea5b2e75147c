//! The checks of a task that Matins runs by itself.
//!
//! A check is a command of the team, or of the person who started the goal. An agent names checks and never writes commands,
//! because a command of Matins asks no permission.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    agent::AgentConfig,
    ids::{SessionId, TaskId, TenantId},
    working_directory::WorkingDirectory,
};

/// The number of lines of a check's output that are kept.
pub const EVIDENCE_LINES: usize = 40;

/// The checks of a task to run, with everything that their execution needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksJob {
    /// The task.
    pub task: TaskId,
    /// The key of the task.
    pub key: String,
    /// The session of the goal.
    pub session: SessionId,
    /// The tenant of the goal.
    pub tenant: TenantId,
    /// The number of the attempt, which is its fence.
    pub attempt: i64,
    /// The directory of the seat that did the work.
    pub directory: WorkingDirectory,
    /// The checks, in the order in which they run.
    pub checks: Vec<NamedCheck>,
    /// `true` if a person or the planner cancelled the task while an earlier worker ran its checks.
    pub is_cancelled: bool,
}

/// A check of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCheck {
    /// The name.
    pub name: String,
    /// The command of the shell. `None` if the team has no check of that name.
    pub command: Option<String>,
    /// The time limit.
    pub timeout: Duration,
}

/// The end of the checks of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChecksEnd {
    /// All checks passed.
    Passed,
    /// A check failed. Later ones did not run.
    Failed {
        /// The name of the check.
        check: String,
        /// The last lines of its output.
        last_lines: String,
    },
    /// A check cannot run, because its program is missing or its time is over.
    Broken {
        /// The name of the check.
        check: String,
    },
    /// The checks were stopped, because the task no longer needs them.
    Cancelled,
}

impl ChecksJob {
    /// Returns the marker of every process of the checks.
    pub fn marker(&self) -> String {
        self.task.to_string()
    }

    /// Returns the whole environment of the commands: the variables of `server` that every agent receives, and variables
    /// that describe the task.
    pub fn environment(&self, server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut environment = AgentConfig::new(Vec::new()).environment(server);
        environment.extend([
            ("MATINS_TASK_ID".to_owned(), self.task.to_string()),
            ("MATINS_TASK_KEY".to_owned(), self.key.clone()),
        ]);
        environment
    }
}

/// Returns the last lines of a check's output, as they are kept. PostgreSQL stores no NUL characters.
pub fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let kept = &lines[lines.len().saturating_sub(EVIDENCE_LINES)..];
    kept.join("\n").replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn last_lines_of_long_output_are_kept() {
        let lines = (1..=50).map(|no| format!("line {no}"));
        let output = lines.collect::<Vec<_>>().join("\n") + "\n";
        let kept = last_lines(&output);
        assert_eq!(kept.lines().count(), EVIDENCE_LINES);
        assert!(
            kept.starts_with("line 11\n") && kept.ends_with("\nline 50"),
            "{kept}"
        );
        assert_eq!(last_lines(""), "");
        assert_eq!(last_lines("a\0b\r\n"), "a\u{fffd}b");
    }

    #[test]
    fn environment_of_checks_describes_task_and_has_no_secrets() {
        let job = ChecksJob {
            task: TaskId::from_uuid(Uuid::from_u128(1)),
            key: "parser".into(),
            session: SessionId::from_uuid(Uuid::from_u128(2)),
            tenant: TenantId::from_uuid(Uuid::from_u128(3)),
            attempt: 1,
            directory: WorkingDirectory::Given("/work".into()),
            checks: Vec::new(),
            is_cancelled: false,
        };
        let server = [("PATH", "/bin"), ("SECRET", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let environment = job.environment(&server);
        let shown: Vec<_> = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let task = format!("MATINS_TASK_ID={}", job.task);
        assert_eq!(
            shown,
            [task, "MATINS_TASK_KEY=parser".into(), "PATH=/bin".into()]
        );
        // Their processes are found by it, also by another server.
        assert_eq!(job.marker(), job.task.to_string());
    }
}
