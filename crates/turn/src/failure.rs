//! The classification of an agent's errors into the failures of a run.

use agent::{Ended, OpenError, PromptError, SettingsError, StartError};
use model::{
    limits,
    outcome::{Failure, FailureKind},
};

/// An error of the agent that maps to a kind of failure.
pub(crate) trait Classified: std::error::Error {
    fn kind(&self) -> FailureKind;

    /// Returns the failure of a run, with the error's text as its message.
    fn failure(&self, prompted: bool) -> Failure {
        Failure {
            kind: self.kind(),
            prompted,
            message: cut(self.to_string(), limits::ERROR_BYTES),
        }
    }
}

/// Cuts a text, which an agent may have made very long, to at most `bytes`.
pub(crate) fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// Returns an error and all its causes as one text.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let chain = causes.map(ToString::to_string).collect::<Vec<_>>();
    cut(chain.join(": "), limits::ERROR_RECORD_BYTES)
}

/// Returns the kind of failure for the end of the agent's process.
const fn exited(ended: &Ended) -> FailureKind {
    if ended.excess.is_some() {
        FailureKind::Limit
    } else if ended.lease_over {
        // The guard killed the agent because its lease was not renewed: this worker was frozen, or could not reach
        // its ledger.
        FailureKind::WorkerLost
    } else {
        FailureKind::AgentExited
    }
}

impl Classified for StartError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) if ended.excess.is_some() || ended.lease_over => exited(ended),
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

impl Classified for OpenError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Unsupported { .. } | Self::Refused { .. } => FailureKind::Restore,
            Self::Busy { .. } => FailureKind::RestoreBusy,
            Self::Gone { .. } => FailureKind::RestoreGone,
            Self::SignInNeeded { .. } => FailureKind::SignIn,
            Self::Timeout { .. } => FailureKind::Start,
            Self::AgentExited(ended) => exited(ended),
            Self::Unreadable(_) | Self::Malformed(_) => FailureKind::Protocol,
        }
    }
}

impl Classified for SettingsError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) => exited(ended),
            Self::Timeout { .. } => FailureKind::Start,
            Self::Malformed(_) | Self::Unreadable(_) => FailureKind::Protocol,
            _ => FailureKind::Settings,
        }
    }
}

impl Classified for PromptError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::AgentExited(ended) => exited(ended),
            Self::AgentError { .. } => FailureKind::AgentError,
            Self::NoSession | Self::Overlap | Self::Unreadable(_) | Self::Protocol(_) => {
                FailureKind::Protocol
            }
        }
    }
}
