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
        /// The kind of the object.
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
        /// The name of the automation.
        name: String,
    },
    /// The id that it was to have is used: it was made before.
    #[error("make {what} {id}: it is there already")]
    Made {
        /// What was to be made.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Somebody else changed it after it was read.
    #[error("change the {what} {name}: it was changed meanwhile")]
    Changed {
        /// What was to be changed.
        what: &'static str,
        /// The name of the automation.
        name: String,
    },
    /// The session in which it goes on keeps this as it is.
    #[error(
        "change the {what} of the automation {name}: its session {session} keeps the one that it has"
    )]
    KeptBySession {
        /// What was to be changed.
        what: &'static str,
        /// The automation's name.
        name: String,
        /// Its current session.
        session: model::SessionId,
    },
    /// The instance cannot be given up: a server serves it.
    #[error("remove the instance {instance}: {worker} serves it")]
    Served {
        /// Its name.
        instance: String,
        /// Who serves it.
        worker: model::WorkerId,
    },
    /// A later version of Matins wrote it, and this one does not honour all of it.
    #[error(
        "use the {what} {name}: it needs document format {needed}, and this version of Matins honours formats up \
         to {honoured}",
        honoured = crate::FORMAT
    )]
    NewerFormat {
        /// The kind of the address.
        what: &'static str,
        /// Its name or its id.
        name: String,
        /// The least format whose servers honour it.
        needed: i64,
    },
    /// A schedule that was stored cannot be worked out.
    #[error("work out when trigger {trigger} is due")]
    Schedule {
        /// The trigger.
        trigger: model::TriggerId,
        /// Why.
        source: schedule::Error,
    },
    /// The transaction of the batch failed that held this.
    #[error(transparent)]
    Batch(std::sync::Arc<Self>),
    /// Whoever was to do it is gone. Whether it was done is not known.
    #[error("hear what became of it")]
    Abandoned,
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
    /// How much this error counts against doing the transaction again, on what is true by now. A race
    /// that another writer won is likely to be lost but once; a busy database has made us wait
    /// already; anything else would only fail again.
    pub(crate) fn weight(&self) -> u32 {
        const RACES: [&str; 5] = [
            "agent_runs_one_active_per_seat",
            "agent_runs_one_active_per_automation",
            "agent_runs_one_row_per_attempt",
            "agent_runs_one_first_attempt_per_occurrence",
            "webhook_receipts_pkey",
        ];
        match self {
            Self::Database(database::Error::Conflict { constraint, .. })
                if RACES.contains(&constraint.as_str()) =>
            {
                1
            }
            Self::Database(database::Error::Busy { .. }) => 5,
            _ => u32::MAX,
        }
    }

    /// The error with its sources in one line, to be kept where a person looks.
    pub fn chain(&self) -> String {
        let sources =
            std::iter::successors(std::error::Error::source(self), |error| error.source());
        sources.fold(self.to_string(), |text, source| format!("{text}: {source}"))
    }

    /// Whether the same may succeed later, when the database is back, free or has room again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => {
                error.is_transient() || matches!(error, database::Error::DiskFull { .. })
            }
            Self::Batch(error) => error.is_transient(),
            // As after a connection that broke while it committed: it may be done, and whoever asks
            // again is then told so, or that it is lost.
            Self::Abandoned => true,
            _ => false,
        }
    }

    /// Whether a stored value makes no sense: trying again gives the same.
    pub fn is_nonsense(&self) -> bool {
        matches!(self, Self::Database(database::Error::Nonsense { .. }))
    }

    /// Whether it needs a later version of Matins than this one.
    pub fn is_newer_format(&self) -> bool {
        matches!(self, Self::NewerFormat { .. })
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Database(error) => error.hint(),
            Self::Changed { .. } => Some("look at what it is now, and try again"),
            Self::Served { .. } => Some("stop that server first"),
            Self::NewerFormat { .. } => Some(
                "use a server of a later version, which `matins instance list` shows; an automation can still be \
                 paused and deleted here",
            ),
            Self::Batch(error) => error.hint(),
            _ => None,
        }
    }

    pub(crate) fn made(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::Made {
            what,
            id: format!("{id}"),
        }
    }

    pub(crate) fn newer_format(
        what: &'static str,
        name: impl std::fmt::Display,
        needed: i64,
    ) -> Self {
        Self::NewerFormat {
            what,
            name: format!("{name}"),
            needed,
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: format!("{id}"),
        }
    }
}
