//! Policies of an automation, each with a default that can be read.

use std::time::Duration;

use crate::{
    approval::Unruled, budget::Budget, precheck::Precheck, schedule::QuietHours,
    text_enum::text_enum,
};

pub use crate::invalid_policy::InvalidPolicy;

text_enum! {
    /// Where an automation's turns go.
    SessionMode, "a session mode" {
        /// Into an existing session, named by its key.
        Bound = "bound",
        /// Into the automation's own session, made by its first run and resumed by all later ones.
        Continuous = "continuous",
        /// Into a new session for each run.
        Fresh = "fresh",
    }
}

text_enum! {
    /// What an occurrence does when an earlier run of its automation is still there.
    Overlap, "an overlap policy" {
        /// It waits for it.
        Queue = "queue",
        /// It is skipped.
        Skip = "skip",
        /// It calls the earlier one off.
        CancelRunning = "cancel_running",
        /// It runs beside it.
        Allow = "allow",
    }
}

text_enum! {
    /// Which instants that fell due while the system was down are made up for.
    CatchUp, "a catch-up policy" {
        /// None.
        None = "none",
        /// The latest one.
        Latest = "latest",
        /// Each one.
        All = "all",
    }
}

text_enum! {
    /// What to do when it cannot be known whether the prompt reached the agent.
    OnCrash, "an on-crash policy" {
        /// Another attempt, which says that it follows an interrupted one.
        Retry = "retry",
        /// The run fails.
        Fail = "fail",
    }
}

/// How long a permission request waits for a person unless somebody says otherwise.
const ASK_SECONDS: u32 = 10 * 60;

/// How often, and after what waits, a failure of the machinery is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, the first one included.
    pub attempts: u32,
    /// The wait after the first failed attempt, in seconds; it doubles with each further one.
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

/// Everything that decides how an automation's occurrences and turns are treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// What an occurrence does when an earlier run is still there; absent: by the session mode.
    pub overlap: Option<Overlap>,
    /// How many of the automation's runs may wait.
    pub queue_limit: u32,
    /// Which missed instants are made up for.
    pub catch_up: CatchUp,
    /// How old a missed instant may be to be made up for, in seconds.
    pub catch_up_window_seconds: u64,
    /// The spread over which fires are scattered, in seconds.
    pub jitter_seconds: u32,
    /// Windows of the day in which occurrences are skipped.
    pub quiet_hours: QuietHours,
    /// The longest that a turn may take, in seconds.
    pub timeout_seconds: u32,
    /// The longest that an agent may be silent in mid-turn, in seconds.
    pub inactivity_seconds: u32,
    /// How failures of the machinery are tried again.
    pub retry: Retry,
    /// What to do when the prompt may have reached an agent that was then lost.
    pub on_crash: OnCrash,
    /// Consecutive failures after which the automation pauses itself; 0: never.
    pub pause_after_failures: u32,
    /// What its runs may use.
    pub budget: Budget,
    /// What happens to permission requests that no rule covers.
    pub unruled: Unruled,
    /// The longest that such a request waits for a person, in seconds.
    pub ask_seconds: u32,
    /// A command that is asked before each occurrence whether its turn is taken; absent: none.
    pub precheck: Option<Precheck>,
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
            unruled: Unruled::Deny,
            ask_seconds: ASK_SECONDS,
            precheck: None,
        }
    }
}

impl Policies {
    /// The overlap policy that holds for `mode`.
    pub fn overlap(&self, mode: SessionMode) -> Overlap {
        self.overlap.unwrap_or(match mode {
            SessionMode::Bound | SessionMode::Continuous => Overlap::Queue,
            SessionMode::Fresh => Overlap::Allow,
        })
    }

    /// Refuses what cannot hold for an automation of `mode`.
    pub fn validate(&self, mode: SessionMode) -> Result<(), InvalidPolicy> {
        let overlap = self.overlap(mode);
        let refuse =
            |field, value: String, accepted| Err(InvalidPolicy::new(field, value, accepted));
        if overlap == Overlap::Allow && mode != SessionMode::Fresh {
            return refuse(
                "overlap",
                overlap.to_string(),
                "only automations with fresh sessions can run beside themselves",
            );
        }
        if overlap == Overlap::CancelRunning && mode == SessionMode::Bound {
            return refuse(
                "overlap",
                overlap.to_string(),
                "a turn in somebody's conversation is not called off; use queue or skip",
            );
        }
        for (field, value, least) in [
            ("queue_limit", self.queue_limit, 1),
            ("timeout_seconds", self.timeout_seconds, 1),
            ("inactivity_seconds", self.inactivity_seconds, 1),
            ("retry.attempts", self.retry.attempts, 1),
            ("ask_seconds", self.ask_seconds, 1),
        ] {
            if value < least {
                return refuse(field, value.to_string(), "at least 1 is expected");
            }
        }
        self.budget.validate()?;
        let Some(precheck) = &self.precheck else {
            return Ok(());
        };
        if !precheck.has_program() {
            let given = format!("{:?}", precheck.command);
            return refuse("precheck.command", given, "a program is expected");
        }
        if precheck.timeout_seconds == 0 {
            return refuse(
                "precheck.timeout_seconds",
                "0".into(),
                "at least 1 is expected",
            );
        }
        Ok(())
    }

    /// The longest that a turn may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    /// The longest that a permission request waits for a person.
    pub fn ask(&self) -> Duration {
        Duration::from_secs(self.ask_seconds.into())
    }

    /// The longest that an agent may be silent.
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
            unruled: Unruled::Deny,
            ask_seconds: 10 * 60,
            precheck: None,
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
    fn a_precheck_names_a_program_and_has_time() {
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
            assert!(refused.starts_with(field), "{refused}");
        }
    }
}
