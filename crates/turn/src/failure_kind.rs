//! The classification of an agent's errors into the failures of a run.

use agent::{EarlyExit, OpenError, PromptError, SettingsError, StartError};
use model::{
    limits,
    outcome::{FailureKind, RunFailure},
};

/// An error of the agent that maps to a kind of failure.
pub(crate) trait ClassifyFailure: std::error::Error {
    fn kind(&self) -> FailureKind;

    /// Returns the failure of a run, with the error's text as its message.
    fn to_run_failure(&self, prompted: bool) -> RunFailure {
        RunFailure {
            kind: self.kind(),
            prompted,
            message: truncate(self.to_string(), limits::ERROR_BYTES),
        }
    }
}

/// Cuts a text, which an agent may have made very long, to at most `bytes`.
pub(crate) fn truncate(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// Returns an error and all its causes as one text.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let chain = causes.map(ToString::to_string).collect::<Vec<_>>();
    truncate(chain.join(": "), limits::ERROR_RECORD_BYTES)
}

/// Returns the kind of failure for the end of the agent's process.
const fn exit_failure_kind(ended: &EarlyExit) -> FailureKind {
    if ended.exceeded_limit.is_some() {
        FailureKind::Limit
    } else if ended.lease_expired {
        // The guard killed the agent because its lease was not renewed: this worker was frozen, or could not reach
        // its store.
        FailureKind::WorkerLost
    } else {
        FailureKind::AgentExited
    }
}

impl ClassifyFailure for StartError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) if ended.exceeded_limit.is_some() || ended.lease_expired => {
                exit_failure_kind(ended)
            }
            Self::Guard { .. } => FailureKind::Internal,
            Self::NoCommand
            | Self::WorkingDirectory { .. }
            | Self::Program { .. }
            | Self::AgentExited(_)
            | Self::Timeout { .. } => FailureKind::Start,
            Self::SignInUnknown { .. } => FailureKind::SignIn,
            Self::Version { .. }
            | Self::Refused { .. }
            | Self::Malformed(_)
            | Self::Unreadable(_) => FailureKind::Protocol,
        }
    }
}

impl ClassifyFailure for OpenError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Unsupported { .. } | Self::Refused { .. } => FailureKind::Restore,
            Self::Busy { .. } => FailureKind::RestoreBusy,
            Self::SessionNotFound { .. } => FailureKind::RestoreGone,
            Self::SignInNeeded { .. } => FailureKind::SignIn,
            Self::Timeout { .. } => FailureKind::Start,
            Self::AgentExited(ended) => exit_failure_kind(ended),
            Self::Unreadable(_) | Self::Malformed(_) => FailureKind::Protocol,
        }
    }
}

impl ClassifyFailure for SettingsError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) => exit_failure_kind(ended),
            Self::Timeout { .. } => FailureKind::Start,
            Self::Malformed(_) | Self::Unreadable(_) => FailureKind::Protocol,
            _ => FailureKind::Settings,
        }
    }
}

impl ClassifyFailure for PromptError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) => exit_failure_kind(ended),
            Self::AgentError { .. } => FailureKind::AgentError,
            Self::NoSession | Self::PromptInProgress | Self::Unreadable(_) | Self::Protocol(_) => {
                FailureKind::Protocol
            }
        }
    }
}
