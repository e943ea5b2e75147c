//! The outcomes of turns, and the retry decision that follows each.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    ids::InputId,
    policy::{OnCrash, Policies, Retry},
    run::RunStatus,
    text_enum::text_enum,
    time::Timestamp,
};

text_enum! {
    /// The reason that the agent gave for the end of the turn (ACP `StopReason`).
    StopReason, "a stop reason" {
        /// The agent completed the turn.
        EndTurn = "end_turn",
        /// The turn reached the model's token limit.
        MaxTokens = "max_tokens",
        /// The turn reached the limit of model requests in one turn.
        MaxTurnRequests = "max_turn_requests",
        /// The agent refuses to continue.
        Refusal = "refusal",
        /// The agent ended the turn as cancelled. If Matins had not cancelled the turn, the run has failed.
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// The kind of failure of a turn that ended without a stop reason.
    FailureKind, "a kind of failure" {
        /// The agent's process could not be started, or did not answer `initialize` in time.
        Start = "start",
        /// The agent requires a sign-in, and its configuration names no sign-in method that the agent offers.
        SignIn = "sign_in",
        /// The agent speaks another version of the protocol, or violates the protocol.
        Protocol = "protocol",
        /// Another process uses the agent's session.
        RestoreBusy = "restore_busy",
        /// The agent no longer has the session.
        RestoreGone = "restore_gone",
        /// The agent could not restore the session for another reason.
        Restore = "restore",
        /// The agent does not offer the mode or the setting that the seat requires.
        Settings = "settings",
        /// The agent's process exited during the turn.
        AgentExited = "agent_exited",
        /// The agent answered the prompt with an error.
        AgentError = "agent_error",
        /// The agent sent nothing for as long as the `inactivity_seconds` policy allows.
        Inactive = "inactive",
        /// The turn took longer than the `timeout_seconds` policy allows.
        Timeout = "timeout",
        /// The agent's processes exceeded their resource limits.
        Limit = "limit",
        /// A budget is used up.
        Budget = "budget",
        /// The worker that executed the run was lost: its heartbeat became stale, or its lease ran out.
        WorkerLost = "worker_lost",
        /// The server stopped before the turn ended. Another attempt follows unless `on_crash` forbids it. The stored
        /// word is older than the name.
        Requeued = "handed_back",
        /// The instance that held the agent's memory was removed.
        InstanceGone = "instance_gone",
        /// No server that is online has the directory that a person gave the session.
        Directory = "directory",
        /// Matins itself failed, because the process that guards the agent could not be started.
        Internal = "internal",
    }
}

/// A turn that ended without a stop reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// `true` if the prompt may have reached the agent.
    pub prompted: bool,
    /// A short text for people. The run record has the details.
    pub message: String,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent ended its turn with this stop reason.
    Stopped(StopReason),
    /// The turn was cancelled for this reason.
    Cancelled(String),
    /// The turn failed before the agent gave a stop reason.
    Failed(RunFailure),
}

impl Outcome {
    /// Returns the final status of a run with this outcome.
    pub fn status(&self) -> RunStatus {
        match self {
            Self::Stopped(StopReason::EndTurn) => RunStatus::Succeeded,
            Self::Cancelled(_) => RunStatus::Cancelled,
            Self::Stopped(_) => RunStatus::Failed,
            Self::Failed(failure) => match failure.kind {
                FailureKind::WorkerLost | FailureKind::Requeued => RunStatus::Stalled,
                _ => RunStatus::Failed,
            },
        }
    }

    /// Returns the short reason that lists show beside the status. Returns `None` for a success.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Stopped(StopReason::EndTurn) => None,
            Self::Stopped(reason) => Some(reason.as_str()),
            Self::Cancelled(reason) => Some(reason),
            Self::Failed(failure) => Some(failure.kind.as_str()),
        }
    }
}

/// The consequence of a run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUp {
    /// No further attempt follows.
    Final,
    /// Another attempt at the same input follows.
    Retry(NextAttempt),
}

/// The next attempt at the same input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAttempt {
    /// The earliest start of the attempt. `None` if it may start at once.
    pub not_before: Option<Timestamp>,
    /// `true` if the prompt must tell the agent that an earlier attempt may have been interrupted.
    pub interrupted: bool,
    /// `true` if the attempt that ended counts as a failed one.
    pub counts_as_failure: bool,
}

/// Decides whether another attempt follows a run of `input`. `failed_before` is the number of earlier attempts at the
/// input that failed.
///
/// Only failures of the machinery are retried. A stop reason or an error that the agent gave as its answer is final.
/// If the prompt may have reached the agent, the `on_crash` policy decides, because a second prompt may repeat side
/// effects.
pub fn follow_up(
    outcome: &Outcome,
    input: InputId,
    failed_before: u32,
    policies: &Policies,
    now: Timestamp,
) -> FollowUp {
    let Outcome::Failed(failure) = outcome else {
        return FollowUp::Final;
    };
    // Exhaustive on purpose: a new kind of failure does not compile without a decision whether to retry it.
    let machinery = match failure.kind {
        FailureKind::Start
        | FailureKind::RestoreBusy
        | FailureKind::AgentExited
        | FailureKind::WorkerLost
        | FailureKind::Requeued
        | FailureKind::Internal => true,
        FailureKind::SignIn
        | FailureKind::Protocol
        | FailureKind::RestoreGone
        | FailureKind::Restore
        | FailureKind::Settings
        | FailureKind::AgentError
        | FailureKind::Inactive
        | FailureKind::Timeout
        | FailureKind::Limit
        | FailureKind::Budget
        | FailureKind::InstanceGone
        | FailureKind::Directory => false,
    };
    if !machinery || (failure.prompted && policies.on_crash == OnCrash::Fail) {
        return FollowUp::Final;
    }
    if failure.kind == FailureKind::Requeued {
        // A server stop is not a failure of the attempt: it uses up no attempt and needs no backoff.
        return FollowUp::Retry(NextAttempt {
            not_before: None,
            interrupted: failure.prompted,
            counts_as_failure: false,
        });
    }
    let failures = failed_before + 1;
    if failures >= policies.retry.attempts {
        return FollowUp::Final;
    }
    FollowUp::Retry(NextAttempt {
        not_before: Some(now + backoff(input, failures, &policies.retry)),
        interrupted: failure.prompted,
        counts_as_failure: true,
    })
}

/// Returns the wait after the `failures`-th failed attempt: exponential, and spread over its upper half, so that
/// inputs that failed together are not retried together. The hash makes the spread the same for the same input and
/// count, on every server.
fn backoff(input: InputId, failures: u32, retry: &Retry) -> Duration {
    let base = Duration::from_secs(retry.backoff_seconds.into());
    // At most 16 doublings: a larger shift would overflow, and `backoff_max_seconds` is reached earlier.
    let doubled = base.saturating_mul(1 << (failures - 1).min(16));
    let full = doubled.min(Duration::from_secs(retry.backoff_max_seconds.into()));
    let mut hash = Sha256::new();
    hash.update(input.uuid().as_bytes());
    hash.update(failures.to_be_bytes());
    let byte = u32::from(hash.finalize()[0]);
    full / 2 + full / 2 * byte / 255
}

/// Returns an automation's count of consecutive failures after one of its inputs has ended for good with `status`.
/// Cancelled inputs leave the count unchanged.
pub const fn consecutive_failures(before: u32, status: RunStatus) -> u32 {
    match status {
        RunStatus::Succeeded => 0,
        RunStatus::Failed | RunStatus::Stalled => before.saturating_add(1),
        _ => before,
    }
}
