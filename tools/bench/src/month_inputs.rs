//! The inputs of a [month](super::month) and their turns.

use std::time::Duration;

use model::{Timestamp, run::RunStatus};
use serde_json::{Value, json};

/// An input and its outcome.
pub(crate) struct Input {
    pub(crate) at: Timestamp,
    /// The index of its source.
    pub(crate) source: usize,
    pub(crate) status: RunStatus,
    pub(crate) attempts: i64,
    /// A number that looks random.
    pub(crate) random: usize,
}

impl Input {
    pub(crate) fn of(at: Timestamp, source: usize) -> Self {
        Self {
            at,
            source,
            status: RunStatus::Succeeded,
            attempts: 1,
            random: 0,
        }
    }

    /// Decides about the input with a number: the last of each `inputs_per_retry` has two attempts.
    pub(crate) fn decide(&mut self, number: usize, inputs_per_retry: usize) {
        self.random = scatter(number);
        if number % inputs_per_retry == inputs_per_retry - 1 {
            self.attempts = 2;
        }
        self.status = match self.random % 100 {
            0..5 => RunStatus::Failed,
            5..7 => RunStatus::Stalled,
            7 => RunStatus::Cancelled,
            _ => RunStatus::Succeeded,
        };
    }

    pub(crate) fn retried(&self) -> bool {
        self.attempts > 1
    }

    /// Returns the outcome. An instant of an automation may have had no turn.
    pub(crate) fn outcome(&self, of_automation: bool) -> RunStatus {
        match (self.status, self.random % 97) {
            (RunStatus::Succeeded, 0..3) if of_automation && !self.retried() => RunStatus::Skipped,
            (RunStatus::Succeeded, 3) if of_automation && !self.retried() => RunStatus::Missed,
            (status, _) => status,
        }
    }
}

/// Returns a number that looks random, for a counter: the steps of `SplitMix64`.
fn scatter(number: usize) -> usize {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The times and the status of one attempt.
pub(crate) struct Turn {
    pub(crate) status: RunStatus,
    pub(crate) created_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

impl Turn {
    pub(crate) fn of(
        input: &Input,
        status: RunStatus,
        created_at: Timestamp,
        end: Timestamp,
    ) -> Self {
        // A turn takes between 20 seconds and four minutes.
        let seconds = 20 + u64::try_from(input.random % 220).unwrap_or(0);
        let started_at = (created_at + Duration::from_millis(120)).min(end);
        let ended_at = (started_at + Duration::from_secs(seconds)).min(end);
        let (has_started, has_ended) = match status {
            RunStatus::Queued | RunStatus::Deferred => (false, false),
            RunStatus::Running | RunStatus::Delivered => (true, false),
            RunStatus::Skipped | RunStatus::Missed => (false, true),
            _ => (true, true),
        };
        Self {
            status,
            created_at,
            started_at: has_started.then_some(started_at),
            ended_at: has_ended.then_some(ended_at),
        }
    }

    pub(crate) fn reason(&self, input: &Input) -> Option<&'static str> {
        Some(match (self.status, input.random % 3) {
            (RunStatus::Failed, 0) => "sign_in",
            (RunStatus::Failed, 1) => "timeout",
            (RunStatus::Failed, _) => "agent_error",
            (RunStatus::Stalled, _) => "worker_lost",
            (RunStatus::Cancelled, _) => "person",
            (RunStatus::Skipped, 0) => "quiet hours",
            (RunStatus::Skipped, _) => "overlap",
            (RunStatus::Missed, _) => "no server",
            _ => return None,
        })
    }

    /// Returns the usage. One agent in three reports none.
    pub(crate) fn usage(&self, input: &Input) -> Value {
        if self.ended_at.is_none() || self.started_at.is_none() || input.random.is_multiple_of(3) {
            return json!({});
        }
        let tokens = 2000 + input.random % 60_000;
        json!({
            "used": tokens * 3,
            "size": 200_000,
            "spent": { "tokens": tokens, "cost": { "USD": tokens * 4 } },
        })
    }
}
