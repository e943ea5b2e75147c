//! The end of a turn.

use model::{
    AcpSessionId,
    outcome::{self, FailureKind, StopReason},
    run::RunFlags,
    turn,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word::Word;

/// The end of a turn, with everything that is stored about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResult {
    outcome: Outcome,
    answer: String,
    #[serde(default)]
    acp_session_id: Option<AcpSessionId>,
    turn_ended: bool,
    flags: Flags,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    title: Option<String>,
    diagnostics: Value,
    #[serde(default)]
    error: Option<String>,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Outcome {
    /// The agent gave this reason for the end of the turn.
    Stopped { reason: Word },
    /// The turn was cancelled for this reason.
    Cancelled { reason: String },
    /// The turn failed before the agent gave a reason.
    Failed { run_failure: RunFailure },
    /// An outcome of a later version.
    #[serde(other)]
    Unknown,
}

/// The reason for which a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    kind: Word,
    prompted: bool,
    message: String,
}

/// Observations about a turn, beside its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Flags {
    empty_answer: bool,
    permissions_denied: u32,
    tool_calls: u32,
    answer_cut: bool,
    precheck_unclear: bool,
}

impl From<TurnResult> for turn::TurnResult {
    fn from(result: TurnResult) -> Self {
        let TurnResult {
            outcome,
            answer,
            acp_session_id,
            turn_ended,
            flags,
            usage,
            title,
            diagnostics,
            error,
        } = result;
        Self {
            outcome: outcome.into(),
            answer,
            acp_session_id,
            turn_ended,
            flags: flags.into(),
            usage,
            title,
            diagnostics,
            error,
        }
    }
}

impl From<turn::TurnResult> for TurnResult {
    fn from(result: turn::TurnResult) -> Self {
        let turn::TurnResult {
            outcome,
            answer,
            acp_session_id,
            turn_ended,
            flags,
            usage,
            title,
            diagnostics,
            error,
        } = result;
        Self {
            outcome: outcome.into(),
            answer,
            acp_session_id,
            turn_ended,
            flags: flags.into(),
            usage,
            title,
            diagnostics,
            error,
        }
    }
}

impl From<Outcome> for outcome::Outcome {
    fn from(outcome: Outcome) -> Self {
        let unknown = |what: &str| {
            Self::Failed(outcome::RunFailure {
                kind: FailureKind::Protocol,
                prompted: true,
                message: format!("the runtime reported {what} that this server does not know"),
            })
        };
        match outcome {
            Outcome::Stopped { reason } => match reason.recognized::<StopReason>() {
                Some(reason) => Self::Stopped(reason),
                None => unknown(&format!("the stop reason `{}`", reason.as_str())),
            },
            Outcome::Cancelled { reason } => Self::Cancelled(reason),
            Outcome::Failed { run_failure } => Self::Failed(run_failure.into()),
            Outcome::Unknown => unknown("an outcome"),
        }
    }
}

impl From<outcome::Outcome> for Outcome {
    fn from(outcome: outcome::Outcome) -> Self {
        match outcome {
            outcome::Outcome::Stopped(reason) => Self::Stopped {
                reason: Word::of(reason),
            },
            outcome::Outcome::Cancelled(reason) => Self::Cancelled { reason },
            outcome::Outcome::Failed(failure) => Self::Failed {
                run_failure: failure.into(),
            },
        }
    }
}

impl From<RunFailure> for outcome::RunFailure {
    fn from(failure: RunFailure) -> Self {
        let RunFailure {
            kind,
            prompted,
            message,
        } = failure;
        Self {
            // The message names the failure. A failure of the agent is not retried, so that an unknown one repeats no
            // side effects.
            kind: kind.or(FailureKind::AgentError),
            prompted,
            message,
        }
    }
}

impl From<outcome::RunFailure> for RunFailure {
    fn from(failure: outcome::RunFailure) -> Self {
        let outcome::RunFailure {
            kind,
            prompted,
            message,
        } = failure;
        Self {
            kind: Word::of(kind),
            prompted,
            message,
        }
    }
}

impl From<Flags> for RunFlags {
    fn from(flags: Flags) -> Self {
        let Flags {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        } = flags;
        Self {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        }
    }
}

impl From<RunFlags> for Flags {
    fn from(flags: RunFlags) -> Self {
        let RunFlags {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        } = flags;
        Self {
            empty_answer,
            permissions_denied,
            tool_calls,
            answer_cut,
            precheck_unclear,
        }
    }
}
