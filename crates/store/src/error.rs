//! Why the store could not do what it was asked.

use model::{lifecycle::Refused, schedule};

use crate::database;

/// Why a transition did not happen. Nothing of it was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database failed or refused.
    #[error("use the database")]
    Database(#[from] database::Error),
    /// There is no such thing, or it belongs to another tenant.
    #[error("find {what} {id}: there is none")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// The id or name that was given.
        id: String,
    },
    /// Its state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Another one has that name.
    #[error("make {what} {name:?}: there is one of that name")]
    Exists {
        /// What was to be made.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A schedule that was stored cannot be worked out.
    #[error("work out when trigger {trigger} is due")]
    Schedule {
        /// The trigger.
        trigger: model::TriggerId,
        /// Why.
        source: schedule::Error,
    },
    /// A prompt cannot be rendered.
    #[error("render the prompt of {run}")]
    Prompt {
        /// The run.
        run: model::RunId,
        /// Why.
        source: model::prompt::Error,
    },
}

impl Error {
    /// Whether doing the transaction again, on what is true by now, may succeed.
    pub(crate) fn is_lost_race(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_lost_race())
    }

    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }
}
