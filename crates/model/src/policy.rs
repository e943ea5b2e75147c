//! The policies of an automation and their defaults.

use std::time::Duration;

use crate::{
    approval::OnUnmatched,
    budget::Budget,
    precheck::Precheck,
    schedule::QuietHours,
    text_enum::text_enum,
    tools::{AgentCron, ToolAccess},
};

pub use crate::invalid_policy::InvalidPolicy;

text_enum! {
    /// The session that receives the turns of an automation.
    SessionMode, "a session mode" {
        /// An existing session, identified by its key.
        Bound = "bound",
        /// The automation's own session. The first run creates it, and all later runs continue it.
        Continuous = "continuous",
        /// A new session for each run.
        Fresh = "fresh",
    }
}

text_enum! {
    /// The treatment of an occurrence while an earlier run of the same automation is not over.
    Overlap, "an overlap policy" {
        /// The occurrence waits for the earlier run.
        Queue = "queue",
        /// The occurrence is skipped.
        Skip = "skip",
        /// The earlier run is cancelled.
        CancelRunning = "cancel_running",
        /// The occurrence runs beside the earlier run.
        Allow = "allow",
    }
}

text_enum! {
    /// The missed instants that are caught up.
    CatchUp, "a catch-up policy" {
        /// No instant.
        None = "none",
        /// The latest instant.
        Latest = "latest",
        /// All instants within the window.
        All = "all",
    }
}

text_enum! {
    /// The treatment of a run that failed after its prompt may have reached the agent.
    OnCrash, "an on-crash policy" {
        /// Another attempt follows, and its prompt says that an earlier attempt was interrupted.
        Retry = "retry",
        /// The run fails.
        Fail = "fail",
    }
}

text_enum! {
    /// Whether prompts begin with a report of the seat's runs without success.
    RunReports, "a rule for reports of runs" {
        /// A prompt has a report if there is something to report.
        On = "on",
        /// No prompt has a report.
        Off = "off",
    }
}

/// The default time for which a permission request waits for a person, in seconds.
const APPROVAL_TIMEOUT_SECONDS: u32 = 10 * 60;

/// The number of attempts and the waits between them, for failures of the machinery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The wait after the first failed attempt, in seconds. Each further failure doubles the wait.
    pub backoff_seconds: u32,
    /// The longest wait, in seconds.
    pub backoff_max_seconds: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            backoff_seconds: 10,
            backoff_max_seconds: 600,
        }
    }
}

/// The policies of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// The treatment of an occurrence while an earlier run is not over. `None`: the default of the session mode.
    pub overlap: Option<Overlap>,
    /// The maximum number of the automation's runs that wait.
    pub queue_limit: u32,
    /// The missed instants that are caught up.
    pub catch_up: CatchUp,
    /// The maximum age of a missed instant that is caught up, in seconds.
    pub catch_up_window_seconds: u64,
    /// The upper bound of the jitter that delays each fire, in seconds.
    pub jitter_seconds: u32,
    /// The windows of the day in which occurrences are skipped.
    pub quiet_hours: QuietHours,
    /// The time limit of a turn, in seconds.
    pub timeout_seconds: u32,
    /// The longest silence of an agent during a turn, in seconds.
    pub inactivity_seconds: u32,
    /// The retries after failures of the machinery.
    pub retry: Retry,
    /// The treatment of a run that failed after its prompt may have reached the agent.
    pub on_crash: OnCrash,
    /// The number of consecutive failures after which the automation pauses itself. 0: never.
    pub pause_after_failures: u32,
    /// The limits of the automation's usage.
    pub budget: Budget,
    /// The treatment of permission requests that no rule matches.
    pub on_unmatched: OnUnmatched,
    /// The longest time for which such a request waits for a person, in seconds.
    pub ask_seconds: u32,
    /// The precheck. `None`: every turn runs.
    pub precheck: Option<Precheck>,
    /// The tools of Matins that the agent gets, at most those that its configuration gives.
    pub tools: ToolAccess,
    /// The treatment of automations that the agent makes in the automation's turns.
    pub agent_cron: AgentCron,
    /// Whether the automation's prompts begin with a report of the seat's runs without success.
    pub run_reports: RunReports,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            overlap: None,
            queue_limit: 100,
            catch_up: CatchUp::Latest,
            catch_up_window_seconds: 24 * 60 * 60,
            jitter_seconds: 0,
            quiet_hours: QuietHours::default(),
            timeout_seconds: 30 * 60,
            inactivity_seconds: 10 * 60,
            retry: Retry::default(),
            on_crash: OnCrash::Retry,
            pause_after_failures: 5,
            budget: Budget::default(),
            on_unmatched: OnUnmatched::Deny,
            ask_seconds: APPROVAL_TIMEOUT_SECONDS,
            precheck: None,
            tools: ToolAccess::All,
            agent_cron: AgentCron::Deny,
            run_reports: RunReports::On,
        }
    }
}

impl Policies {
    /// Returns the overlap policy for `mode`.
    pub fn overlap(&self, mode: SessionMode) -> Overlap {
        self.overlap.unwrap_or(match mode {
            SessionMode::Bound | SessionMode::Continuous => Overlap::Queue,
            SessionMode::Fresh => Overlap::Allow,
        })
    }

    /// Validates the policies of an automation with this session mode.
    ///
    /// # Errors
    ///
    /// [`InvalidPolicy`] for the first policy that is invalid.
    pub fn validate(&self, mode: SessionMode) -> Result<(), InvalidPolicy> {
        let overlap = self.overlap(mode);
        let refuse =
            |field, value: String, accepted| Err(InvalidPolicy::new(field, value, accepted));
        // 1. Overlap and session mode.
        if overlap == Overlap::Allow && mode != SessionMode::Fresh {
            return refuse(
                "overlap",
                overlap.to_string(),
                "only automations with fresh sessions can have parallel runs; use queue or skip",
            );
        }
        // A bound session belongs to a person's conversation, whose turn an automation must not cancel.
        if overlap == Overlap::CancelRunning && mode == SessionMode::Bound {
            return refuse(
                "overlap",
                overlap.to_string(),
                "an automation cannot cancel a turn in a person's conversation; use queue or skip",
            );
        }
        // 2. Minimum values.
        for (field, value, least) in [
            ("queue_limit", self.queue_limit, 1),
            ("timeout_seconds", self.timeout_seconds, 1),
            ("inactivity_seconds", self.inactivity_seconds, 1),
            ("retry.attempts", self.retry.attempts, 1),
            ("ask_seconds", self.ask_seconds, 1),
        ] {
            if value < least {
                return refuse(field, value.to_string(), "expected at least 1");
            }
        }
        self.budget.validate()?;
        // 3. Precheck.
        let Some(precheck) = &self.precheck else {
            return Ok(());
        };
        if !precheck.has_program() {
            let given = precheck.command.join(" ").escape_debug().to_string();
            return refuse("precheck.command", given, "expected a program");
        }
        if precheck.timeout_seconds == 0 {
            return refuse(
                "precheck.timeout_seconds",
                "0".into(),
                "expected at least 1",
            );
        }
        Ok(())
    }

    /// Returns the time limit of a turn.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    /// Returns the longest time for which a permission request waits for a person.
    pub fn approval_timeout(&self) -> Duration {
        Duration::from_secs(self.ask_seconds.into())
    }

    /// Returns the longest silence of an agent.
    pub fn inactivity(&self) -> Duration {
        Duration::from_secs(self.inactivity_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_default() {
        let defaults = Policies::default();
        let expected = Policies {
            overlap: None,
            queue_limit: 100,
            catch_up: CatchUp::Latest,
            catch_up_window_seconds: 24 * 60 * 60,
            jitter_seconds: 0,
            quiet_hours: QuietHours::new(Vec::new()).unwrap(),
            timeout_seconds: 30 * 60,
            inactivity_seconds: 10 * 60,
            retry: Retry {
                attempts: 3,
                backoff_seconds: 10,
                backoff_max_seconds: 600,
            },
            on_crash: OnCrash::Retry,
            pause_after_failures: 5,
            budget: Budget::default(),
            on_unmatched: OnUnmatched::Deny,
            ask_seconds: 10 * 60,
            precheck: None,
            tools: ToolAccess::All,
            agent_cron: AgentCron::Deny,
            run_reports: RunReports::On,
        };
        assert_eq!(defaults, expected);
        assert!(defaults.budget.is_none());
        for (mode, expected) in [
            (SessionMode::Bound, Overlap::Queue),
            (SessionMode::Continuous, Overlap::Queue),
            (SessionMode::Fresh, Overlap::Allow),
        ] {
            assert_eq!(defaults.overlap(mode), expected, "{mode}");
        }
    }

    #[test]
    fn precheck_without_program_or_time_is_refused() {
        let refused = |command: &[&str], timeout_seconds| {
            let command = command.iter().map(|&word| word.to_owned()).collect();
            let policies = Policies {
                precheck: Some(Precheck {
                    command,
                    timeout_seconds,
                }),
                ..Policies::default()
            };
            let validated = policies.validate(SessionMode::Fresh);
            validated.err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["check", ""], 1), None);
        for (command, seconds, field) in [
            (&[][..], 60, "precheck.command"),
            (&["", "x"][..], 60, "precheck.command"),
            (&["check"][..], 0, "precheck.timeout_seconds"),
        ] {
            let refused = refused(command, seconds).unwrap();
            assert!(refused.starts_with(&format!("`{field}`")), "{refused}");
        }
    }
}
