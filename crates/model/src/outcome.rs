//! How turns end, and what follows from it.

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
    /// Why the agent says that it ended the turn (ACP `StopReason`).
    StopReason, "a stop reason" {
        /// The agent is done.
        EndTurn = "end_turn",
        /// The model's limit of tokens was reached.
        MaxTokens = "max_tokens",
        /// The limit of requests in one turn was reached.
        MaxTurnRequests = "max_turn_requests",
        /// The agent refuses to go on.
        Refusal = "refusal",
        /// The turn was called off. Where nobody did that, the agent has failed.
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// What went wrong when no stop reason came.
    FailureKind, "a kind of failure" {
        /// The agent's process could not be started, or did not introduce itself.
        Start = "start",
        /// The agent asks for a sign-in that its harness does not name.
        SignIn = "sign_in",
        /// The agent speaks another version of the protocol, or breaks it.
        Protocol = "protocol",
        /// The agent's session is in use elsewhere.
        RestoreBusy = "restore_busy",
        /// The agent no longer has the session.
        RestoreGone = "restore_gone",
        /// The agent could not restore the session.
        Restore = "restore",
        /// The agent does not offer the mode or the setting that the seat asks for.
        Settings = "settings",
        /// The agent's process ended in mid-turn.
        AgentExited = "agent_exited",
        /// The agent answered the prompt with an error.
        AgentError = "agent_error",
        /// Nothing was heard of the agent for as long as the policy allows.
        Inactive = "inactive",
        /// The turn took longer than the policy allows.
        Timeout = "timeout",
        /// The agent's processes used more than their harness allows.
        Limit = "limit",
        /// A budget is used up.
        Budget = "budget",
        /// The worker that executed the run was lost.
        WorkerLost = "worker_lost",
        /// The server was stopped and handed the run back.
        HandedBack = "handed_back",
        /// The instance that held the seat's memory is gone.
        InstanceGone = "instance_gone",
        /// Matins itself could not go on: the process that guards an agent does not start.
        Internal = "internal",
    }
}

/// A turn that ended without a stop reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// Whether the prompt may have reached the agent.
    pub prompted: bool,
    /// A short text for people; details belong to the run record.
    pub message: String,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent ended its turn and said why.
    Stopped(StopReason),
    /// The turn was called off, with the reason.
    Cancelled(String),
    /// The turn could not be done.
    Failed(Failure),
}

impl Outcome {
    /// The status in which this outcome leaves the run.
    pub fn status(&self) -> RunStatus {
        match self {
            Self::Stopped(StopReason::EndTurn) => RunStatus::Succeeded,
            Self::Cancelled(_) => RunStatus::Cancelled,
            Self::Stopped(_) => RunStatus::Failed,
            Self::Failed(failure) => match failure.kind {
                FailureKind::WorkerLost | FailureKind::HandedBack => RunStatus::Stalled,
                _ => RunStatus::Failed,
            },
        }
    }

    /// The short reason that lists show beside the status; `None` for a success.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Stopped(StopReason::EndTurn) => None,
            Self::Stopped(reason) => Some(reason.as_str()),
            Self::Cancelled(reason) => Some(reason),
            Self::Failed(failure) => Some(failure.kind.as_str()),
        }
    }
}

/// What happens after a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequel {
    /// Nothing: the outcome stands.
    Final,
    /// Another attempt at the same input.
    Retry(NextAttempt),
}

/// Another attempt at the same input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAttempt {
    /// When it may start, at the earliest.
    pub not_before: Option<Timestamp>,
    /// Whether it must tell the agent that an earlier attempt may have been interrupted.
    pub interrupted: bool,
    /// Whether the attempt that ended counts as a failed one.
    pub counts: bool,
}

/// Decides what follows a run of `input` that ended with `outcome`, when `failed_before` attempts
/// had failed before it.
///
/// Only failures of the machinery are tried again. A stop reason never is, nor an error that the
/// agent gave as its answer. Where the prompt may have reached the agent, `on_crash` decides.
pub fn sequel(
    outcome: &Outcome,
    input: InputId,
    failed_before: u32,
    policies: &Policies,
    now: Timestamp,
) -> Sequel {
    let Outcome::Failed(failure) = outcome else {
        return Sequel::Final;
    };
    let machinery = match failure.kind {
        FailureKind::Start
        | FailureKind::RestoreBusy
        | FailureKind::AgentExited
        | FailureKind::WorkerLost
        | FailureKind::HandedBack
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
        | FailureKind::InstanceGone => false,
    };
    if !machinery || (failure.prompted && policies.on_crash == OnCrash::Fail) {
        return Sequel::Final;
    }
    if failure.kind == FailureKind::HandedBack {
        // Stopping a server is nobody's failure: no attempt is used up and nothing waits.
        return Sequel::Retry(NextAttempt {
            not_before: None,
            interrupted: failure.prompted,
            counts: false,
        });
    }
    let failures = failed_before + 1;
    if failures >= policies.retry.attempts {
        return Sequel::Final;
    }
    Sequel::Retry(NextAttempt {
        not_before: Some(now + backoff(input, failures, &policies.retry)),
        interrupted: failure.prompted,
        counts: true,
    })
}

/// The wait after the `failures`-th failed attempt: exponential, and spread over its upper half so
/// that inputs that failed together do not return together. The same input gets the same spread.
fn backoff(input: InputId, failures: u32, retry: &Retry) -> Duration {
    let base = Duration::from_secs(retry.backoff_seconds.into());
    let doubled = base.saturating_mul(1 << (failures - 1).min(16));
    let full = doubled.min(Duration::from_secs(retry.backoff_max_seconds.into()));
    let mut hash = Sha256::new();
    hash.update(input.uuid().as_bytes());
    hash.update(failures.to_be_bytes());
    let byte = u32::from(hash.finalize()[0]);
    full / 2 + full / 2 * byte / 255
}

/// What an automation's count of consecutive failures becomes when one of its inputs has ended for
/// good with `status`; cancelled inputs leave it alone.
pub const fn consecutive_failures(before: u32, status: RunStatus) -> u32 {
    match status {
        RunStatus::Succeeded => 0,
        RunStatus::Failed | RunStatus::Stalled => before.saturating_add(1),
        _ => before,
    }
}
