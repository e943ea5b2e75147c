//! The errors of the store. Each message states a fact, or the operation that was not possible. The cause of an error
//! is its source.

use model::{access::OutlivesMaker, goal::Refusal, lifecycle::InvalidTransition, schedule};

use crate::database;

/// The reason why a transition did not happen. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database returned an error.
    #[error("cannot use the database")]
    Database(#[from] database::Error),
    /// The object does not exist, or belongs to another tenant.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// The kind of the object.
        what: &'static str,
        /// The ID or name that was given.
        id: String,
    },
    /// The object's state does not allow the transition.
    #[error(transparent)]
    Refused(#[from] InvalidTransition),
    /// Another object has that name.
    #[error("{what} `{name}` already exists")]
    NameTaken {
        /// The kind of the object.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Another instance has that folder.
    #[error("{} has the folder `{folder}`, so that instance `{instance}` cannot have it", format_holder(.holder.as_deref()))]
    FolderTaken {
        /// The path of the folder.
        folder: String,
        /// The instance that was to get the folder.
        instance: String,
        /// The instance that has the folder. `None` if it belongs to another tenant.
        holder: Option<String>,
    },
    /// The ID is used: an earlier request has created the object.
    #[error("{what} `{id}` already exists")]
    AlreadyCreated {
        /// The kind of the object.
        what: &'static str,
        /// The object's ID.
        id: String,
    },
    /// The object was changed after the caller had read it.
    #[error("{what} `{name}` has changed since it was read")]
    StaleVersion {
        /// The kind of the object.
        what: &'static str,
        /// The name of the object.
        name: String,
    },
    /// The turn whose agent calls a tool is over, belongs to another worker, or has another secret.
    #[error("the turn of run `{run}` is over")]
    RunOver {
        /// The run.
        run: model::RunId,
    },
    /// The goal does not accept the move.
    #[error(transparent)]
    Goal(#[from] Refusal),
    /// The team cannot work on a goal.
    #[error(transparent)]
    Team(#[from] model::goal::TeamError),
    /// The team has a mistake.
    #[error(transparent)]
    TeamFault(#[from] model::team::TeamFault),
    /// There are as many objects as there may be.
    #[error("the limit of {what} is {limit}, and it is reached")]
    LimitReached {
        /// The objects that are limited.
        what: &'static str,
        /// The highest number.
        limit: u32,
    },
    /// A seat has as many undelivered messages as it may have.
    #[error(
        "the seat `{seat}` has {limit} undelivered messages, which is the limit: its turns wait or fail"
    )]
    SeatFull {
        /// The name of the seat.
        seat: String,
        /// The highest number.
        limit: u32,
    },
    /// The seats of a goal have sent each other as many messages as the goal allows.
    #[error(
        "the goal `{goal}` takes no further message between its seats: its limit `messages` is {limit}"
    )]
    MessageLimit {
        /// The session of the goal.
        goal: model::SessionId,
        /// The highest number.
        limit: u32,
    },
    /// Another object of that name has other content.
    #[error("{what} `{name}` exists with other content")]
    OtherContent {
        /// The kind of the object.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Another transaction has changed the rows that this one had chosen, before this one had locked them.
    /// `Store::transact` repeats the transaction on the rows as they are by then.
    #[error("{what} changed at the same time")]
    LostRace {
        /// The rows.
        what: &'static str,
    },
    /// A token would expire after the token that makes it.
    #[error(transparent)]
    OutlivesMaker(#[from] OutlivesMaker),
    /// The automation continues in a session that fixes this setting.
    #[error(
        "cannot change the {what} of automation `{name}`, because its current session `{session}` fixes it"
    )]
    FixedBySession {
        /// The setting.
        what: &'static str,
        /// The automation's name.
        name: String,
        /// Its current session.
        session: model::SessionId,
    },
    /// The instance cannot be removed, because a server serves it.
    #[error("cannot remove instance `{instance}`, because worker `{worker}` serves it")]
    InstanceInUse {
        /// The name of the instance.
        instance: String,
        /// The worker that serves the instance.
        worker: model::WorkerId,
    },
    /// A later version of Matins wrote the object, and this version does not support all of it.
    #[error(
        "cannot use {what} `{name}`: it needs document format {needed}, and this version of Matins supports formats \
         up to {supported}",
        supported = crate::DOCUMENT_FORMAT
    )]
    NewerFormat {
        /// The kind of the object.
        what: &'static str,
        /// The object's name or ID.
        name: String,
        /// The lowest document format whose servers support the object.
        needed: i64,
    },
    /// The next run of a stored schedule cannot be computed.
    #[error("cannot compute the next instant of trigger `{trigger}`")]
    InvalidSchedule {
        /// The trigger.
        trigger: model::TriggerId,
        /// The error of the schedule.
        source: schedule::Error,
    },
    /// The transaction of the batch that held this item failed.
    #[error(transparent)]
    BatchFailed(std::sync::Arc<Self>),
    /// The task that ran the batch died, so it is unknown whether the item was committed.
    #[error("it is unknown whether the change was committed, because the task that wrote it died")]
    OutcomeUnknown,
    /// The prompt of a goal's turn cannot be rendered.
    #[error("cannot render the prompt of task `{task}`")]
    GoalPrompt {
        /// The key of the task.
        task: String,
        /// The error of the template.
        source: model::prompt::Error,
    },
    /// A prompt cannot be rendered.
    #[error("cannot render the prompt of run `{run}`")]
    Prompt {
        /// The run.
        run: model::RunId,
        /// The error of the template.
        source: model::prompt::Error,
    },
}

fn format_holder(instance: Option<&str>) -> String {
    instance.map_or_else(
        || "an instance of another tenant".to_owned(),
        |name| format!("instance `{name}`"),
    )
}

impl Error {
    /// Returns the weight of this error. `Store::transact` retries a transaction until the sum of the weights exceeds
    /// a limit. A lost race weighs little, because the same race is rarely lost twice. A busy database weighs more,
    /// because the transaction has already waited. Every other error would recur, so it ends the retries at once.
    pub(crate) fn retry_weight(&self) -> u32 {
        const RETRYABLE_CONSTRAINTS: [&str; 14] = [
            "agent_runs_one_active_per_seat",
            "agent_runs_one_active_per_automation",
            "agent_runs_one_row_per_attempt",
            "agent_runs_one_first_attempt_per_occurrence",
            "webhook_receipts_pkey",
            // A transition looks for a reserved ID before it inserts the row. If a copy of the request has inserted the
            // row in between, the next attempt finds it and returns `AlreadyCreated`.
            "api_tokens_pkey",
            "automation_triggers_pkey",
            "automations_pkey",
            // Likewise, another turn of the session has made an automation of that name in between.
            "automations_one_per_name_of_agents",
            // Likewise, another call of the turn has asked the question in between.
            "questions_one_per_text",
            // Likewise, another turn of the session has saved that version of an artifact in between.
            "agent_artifacts_one_per_version",
            "notification_endpoints_pkey",
            "tenants_pkey",
            "webhook_deliveries_pkey",
        ];
        match self {
            Self::Database(database::Error::Conflict { constraint, .. })
                if RETRYABLE_CONSTRAINTS.contains(&constraint.as_str()) =>
            {
                1
            }
            Self::LostRace { .. } => 1,
            Self::Database(database::Error::Busy { .. }) => 5,
            _ => u32::MAX,
        }
    }

    /// Returns the error and its sources in one line, for storage where a person reads it.
    pub fn chain(&self) -> String {
        let sources =
            std::iter::successors(std::error::Error::source(self), |error| error.source());
        sources.fold(self.to_string(), |text, source| format!("{text}: {source}"))
    }

    /// Returns `true` if the same call may succeed later, when the database is back, free, or has space again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => {
                error.is_transient() || matches!(error, database::Error::DiskFull { .. })
            }
            Self::BatchFailed(error) => error.is_transient(),
            // As after a connection that broke during a commit, the item may have been committed. A second attempt
            // then reports that.
            Self::OutcomeUnknown | Self::LostRace { .. } => true,
            _ => false,
        }
    }

    /// Returns `true` if a stored value is corrupt, so that a retry fails in the same way.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Database(database::Error::CorruptValue { .. }))
    }

    /// Returns `true` if the object needs a later version of Matins.
    pub fn is_newer_format(&self) -> bool {
        matches!(self, Self::NewerFormat { .. })
    }

    /// Returns advice that a person can follow.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Database(error) => error.hint(),
            Self::StaleVersion { .. } => Some("read its current version, and try again"),
            Self::InstanceInUse { .. } => Some("stop that server first"),
            Self::NewerFormat { .. } => Some(
                "use a server with a later version of Matins (`matins instance list` shows the versions); this server \
                 can still pause or delete an automation",
            ),
            Self::Goal(Refusal::Draft) => Some("`matins goal resume GOAL` starts it"),
            Self::BatchFailed(error) => error.hint(),
            _ => None,
        }
    }

    pub(crate) fn already_created(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::AlreadyCreated {
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
