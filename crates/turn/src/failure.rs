//! What an agent's errors mean for a run.

use agent::{Ended, OpenError, PromptError, SettingsError, StartError};
use model::{
    limits,
    outcome::{Failure, FailureKind},
};

/// An error of the agent, told apart by what follows from it.
pub(crate) trait Classified: std::error::Error {
    fn kind(&self) -> FailureKind;

    /// The failure of a run, with the error's own words for people.
    fn failure(&self, prompted: bool) -> Failure {
        Failure {
            kind: self.kind(),
            prompted,
            message: cut(self.to_string(), limits::ERROR_BYTES),
        }
    }
}

/// A text that an agent may have made endless, up to `bytes` of it.
pub(crate) fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// An error with all that led to it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let chain = causes.map(ToString::to_string).collect::<Vec<_>>();
    cut(chain.join(": "), limits::ERROR_RECORD_BYTES)
}

/// What the end of the agent's process means.
const fn exited(ended: &Ended) -> FailureKind {
    if ended.excess.is_some() {
        FailureKind::Limit
    } else if ended.lease_over {
        // Its guard killed it because nobody renewed its lease: this worker was frozen, or cut off
        // from its ledger.
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
