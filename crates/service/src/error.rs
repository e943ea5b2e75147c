//! The errors of this crate, with their kind, the field at fault and a hint for the user.

use std::borrow::Cow;

use model::{
    agent::RestoreBy, goal::GoalState, lifecycle::InvalidTransition, policy::InvalidPolicy,
    schedule, session::SessionStatus,
};

use config::team::InvalidTeam;
use webhook::InvalidUrl;

use api_types::{BoundAutomation, Count, MAX_COUNT, OpenSession};

use crate::{ProbeError, field_error::FieldError, text::quoted};

/// The kind of an error. Exit codes and HTTP statuses are derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid.
    Invalid,
    /// The object does not exist.
    NotFound,
    /// The object exists, but its state or its name does not allow the request.
    Refused,
    /// An agent could not be started.
    Agent,
    /// The database failed.
    Database,
    /// The data folder failed.
    Files,
}

impl ErrorKind {
    /// `true` if the request is at fault, so that the same request is refused again until a person mends something.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::Invalid | Self::NotFound | Self::Refused)
    }
}

/// The reason for which a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value is invalid.
    #[error("invalid {what} {}: {problem}", quoted(.value))]
    Invalid {
        /// The path of the field in the request.
        field: Cow<'static, str>,
        /// The name of the field in messages.
        what: Cow<'static, str>,
        /// The invalid value, shortened.
        value: String,
        /// The problem and the accepted values.
        problem: String,
    },
    /// A required value is missing.
    #[error("`{field}` is missing: {expected}")]
    Missing {
        /// The path of the field in the request.
        field: &'static str,
        /// The accepted values.
        expected: String,
    },
    /// The URL of an endpoint is invalid or not permitted.
    #[error("invalid `url` {}: {reason}", quoted(.redacted))]
    Url {
        /// The scheme and the host of the URL. The other parts may contain a password.
        redacted: String,
        /// The reason.
        reason: InvalidUrl,
    },
    /// A prompt cannot be rendered, which is a defect of Matins.
    #[error(transparent)]
    Prompt(model::prompt::Error),
    /// A schedule is invalid.
    #[error(transparent)]
    Schedule(#[from] schedule::Error),
    /// A team file has mistakes.
    #[error(transparent)]
    Team(#[from] InvalidTeam),
    /// Policies contradict each other or the session mode.
    #[error("invalid policies")]
    Policies(#[from] InvalidPolicy),
    /// Another error, with the path of the field that caused it.
    #[error(transparent)]
    AtField(Box<FieldError<Self>>),
    /// The object does not exist.
    #[error("{what} {} not found{}", quoted(.given), did_you_mean(.nearest.as_deref()))]
    NotFound {
        /// The kind of the object.
        what: &'static str,
        /// The ID or name in the request.
        given: String,
        /// The existing name that is most similar to the requested one.
        nearest: Option<String>,
    },
    /// The session has no such seat.
    #[error("seat {} not found, accepted are {accepted}", quoted(.given))]
    SeatNotFound {
        /// The ID or name in the request.
        given: String,
        /// The names of the seats.
        accepted: String,
    },
    /// A trigger file names no automation that it may fire.
    #[error("no automation {} is placed on the instance of this folder", quoted(.given))]
    NoAutomationOfInstance {
        /// The ID or name in the file.
        given: String,
    },
    /// An ID prefix matches more than one object.
    #[error("{what} {} is ambiguous: more than one ID begins with it, such as {}", quoted(.given), .candidates.join(" and "))]
    Ambiguous {
        /// The kind of the object.
        what: &'static str,
        /// The ID prefix in the request.
        given: String,
        /// Two of the matching IDs.
        candidates: [String; 2],
    },
    /// The agent does not offer the way to restore a session that its configuration requires.
    #[error(
        "the agent `{agent}` cannot restore sessions: it {}, so that only automations with fresh sessions can use it",
        missing_capability(*.restore)
    )]
    CannotRestore {
        /// The name of the agent.
        agent: String,
        /// The required way to restore a session.
        restore: RestoreBy,
    },
    /// Automations or open sessions use the agent, so that it cannot be removed.
    #[error("cannot remove the agent {}, because it is in use by {}", quoted(.agent), list_users(.automations, .sessions, *.more))]
    AgentInUse {
        /// The name of the agent.
        agent: String,
        /// The automations, by name.
        automations: Vec<BoundAutomation>,
        /// The sessions that are not closed, the newest first.
        sessions: Vec<OpenSession>,
        /// `true` if there are more than those.
        more: bool,
    },
    /// The number of runs that an operation on many runs would change is not the expected one.
    #[error("expected {expected} runs, but {actual} of the matching runs can be {operation}")]
    OtherNumberOfRuns {
        /// The operation, such as "retried".
        operation: &'static str,
        /// The number in the request.
        expected: u32,
        /// The number in the database.
        actual: Count,
    },
    /// The session is closed and accepts no more inputs.
    #[error("the session {} is {state} and accepts no more inputs", quoted(.session))]
    SessionClosed {
        /// The key or ID of the session in the request.
        session: String,
        /// The status of the session.
        state: SessionStatus,
    },
    /// The goal has ended, and its session is closed.
    #[error("the goal {} has ended and accepts no more messages; it is {state}", quoted(.goal))]
    GoalEnded {
        /// The key or ID of the goal in the request.
        goal: String,
        /// The state of the goal.
        state: GoalState,
    },
    /// Another goal or session has the key.
    #[error("the key {} is that of another goal or session", quoted(.0))]
    KeyTaken(String),
    /// The process of an agent could not be started.
    #[error("cannot start the agent `{agent}`")]
    Probe {
        /// The name of the agent.
        agent: String,
        /// The command that installs the agent. `None` if the agent is not in the catalogue.
        install: Option<String>,
        /// The error of the start.
        source: ProbeError,
    },
    /// A seat of a team cannot use its agent.
    #[error("the seat {} cannot use its agent", quoted(.seat))]
    SeatAgent {
        /// The name of the seat.
        seat: String,
        /// The reason.
        source: Box<Error>,
    },
    /// The turn of an agent may not use its tool in this way.
    #[error("this turn may not do that: {reason}")]
    NotAllowed {
        /// The reason.
        reason: String,
    },
    /// The artifact is an address, so that there is nothing to download.
    #[error("the artifact {} has no content: it is the address {}", quoted(.artifact), quoted(.uri))]
    NoContent {
        /// The name of the artifact.
        artifact: String,
        /// The address.
        uri: String,
    },
    /// The data folder of another instance has the content of the artifact.
    #[error("the content of the artifact {} is on the instance {}", quoted(.artifact), quoted(.instance))]
    ContentOnOtherInstance {
        /// The name of the artifact.
        artifact: String,
        /// The name of the instance.
        instance: String,
    },
    /// The content of an artifact cannot be stored or returned.
    #[error(transparent)]
    Content(#[from] artifacts::Error),
    /// The present state does not allow the request.
    #[error(transparent)]
    Refused(#[from] InvalidTransition),
    /// Another error of the store.
    #[error(transparent)]
    Store(store::Error),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| {
        format!("; did you mean {}?", quoted(name))
    })
}

/// Lists the automations and the sessions that use an agent.
fn list_users(automations: &[BoundAutomation], sessions: &[OpenSession], more: bool) -> String {
    let automations = automations
        .iter()
        .map(|automation| format!("the automation {}", quoted(&automation.name)));
    let sessions = sessions
        .iter()
        .map(|session| format!("the session {}", session.id));
    let mut users: Vec<_> = automations.chain(sessions).collect();
    if more {
        users.push("more".into());
    }
    users.join(", ")
}

const fn missing_capability(restore: RestoreBy) -> &'static str {
    match restore {
        RestoreBy::Auto => "offers neither session/resume nor session/load",
        RestoreBy::Resume => "does not offer session/resume",
        RestoreBy::Load => "does not offer session/load",
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Refused(refused) => Self::Refused(refused),
            store::Error::NotFound { what, id } => Self::NotFound {
                what,
                given: id,
                nearest: None,
            },
            error => Self::Store(error),
        }
    }
}

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::AtField(field_error) => field_error.error.kind(),
            Self::SeatAgent { source, .. } => source.kind(),
            Self::Store(store::Error::Goal(goal)) if goal.is_invalid_plan() => ErrorKind::Invalid,
            Self::Invalid { .. }
            | Self::Missing { .. }
            | Self::Url { .. }
            | Self::Schedule(_)
            | Self::Team(_)
            | Self::Policies(_)
            | Self::Content(artifacts::Error::Path { .. } | artifacts::Error::TooLarge { .. }) => {
                ErrorKind::Invalid
            }
            Self::NotFound { .. }
            | Self::SeatNotFound { .. }
            | Self::NoAutomationOfInstance { .. }
            | Self::Ambiguous { .. } => ErrorKind::NotFound,
            Self::CannotRestore { .. }
            | Self::AgentInUse { .. }
            | Self::OtherNumberOfRuns { .. }
            | Self::SessionClosed { .. }
            | Self::GoalEnded { .. }
            | Self::KeyTaken(_)
            | Self::NotAllowed { .. }
            | Self::NoContent { .. }
            | Self::ContentOnOtherInstance { .. }
            | Self::Content(
                artifacts::Error::Changed { .. }
                | artifacts::Error::Exists { .. }
                | artifacts::Error::Damaged { .. },
            )
            | Self::Refused(_)
            | Self::Store(
                store::Error::NameTaken { .. }
                | store::Error::FolderTaken { .. }
                | store::Error::StaleVersion { .. }
                | store::Error::FixedBySession { .. }
                | store::Error::InstanceInUse { .. }
                | store::Error::LimitReached { .. }
                | store::Error::SeatFull { .. }
                | store::Error::MessageLimit { .. }
                | store::Error::OtherContent { .. }
                | store::Error::RunOver { .. }
                | store::Error::Goal(_)
                | store::Error::Team(_)
                | store::Error::TeamFault(_)
                | store::Error::NewerFormat { .. },
            ) => ErrorKind::Refused,
            Self::Content(artifacts::Error::Folder { .. }) => ErrorKind::Files,
            Self::Probe { .. } => ErrorKind::Agent,
            Self::Store(_) | Self::Prompt(_) => ErrorKind::Database,
        }
    }

    /// `true` if a stored value is corrupt.
    pub(crate) fn is_corrupt(&self) -> bool {
        match self {
            Self::Store(error) => error.is_corrupt(),
            // The stored schedule was valid when it was written, so this program cannot read what another version
            // wrote.
            Self::Schedule(_) => true,
            _ => false,
        }
    }

    /// Returns the error and its sources in one line.
    pub fn chain(&self) -> String {
        let sources =
            std::iter::successors(std::error::Error::source(self), |error| error.source());
        sources.fold(self.to_string(), |text, source| format!("{text}: {source}"))
    }

    /// `true` if the object has changed since the caller read it.
    pub const fn is_changed(&self) -> bool {
        matches!(self, Self::Store(store::Error::StaleVersion { .. }))
    }

    /// Returns the path of the field at fault in the request, if one is at fault.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            Self::Missing { field, .. } => Some(field),
            Self::Url { .. } => Some("url"),
            Self::KeyTaken(_) => Some("key"),
            Self::Team(_) => Some("team_file.text"),
            Self::Content(artifacts::Error::Path { .. } | artifacts::Error::TooLarge { .. }) => {
                Some("path")
            }
            Self::AtField(field_error) => Some(&field_error.field),
            _ => None,
        }
    }

    /// Returns the next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::AtField(field_error) => field_error.error.hint(),
            Self::SeatAgent { source, .. } => source.hint(),
            Self::NotFound { what, .. } => list_command(what),
            Self::NoAutomationOfInstance { .. } => Some(
                "place it with `matins automation edit NAME --on INSTANCE`; a file names the whole ID or the exact name"
                    .into(),
            ),
            Self::Missing { field, .. } => list_command(field),
            Self::Team(_) => Some(
                "`matins team show code --file` prints a file as a beginning; `matins team check FILE` checks yours".into(),
            ),
            Self::Url {
                reason: InvalidUrl::NotEncrypted | InvalidUrl::NotPublic { .. },
                ..
            } => Some("set `webhook.allow` to the hosts and networks that you trust".into()),
            Self::Ambiguous { .. } => Some("give more characters of the ID".into()),
            Self::CannotRestore { agent, .. } => Some(format!(
                "use fresh sessions, or another agent; `matins agent check {agent}` reads the \
                 capabilities of the agent again"
            )),
            Self::AgentInUse { .. } => Some(
                "give the automations another agent with `matins automation edit NAME --agent AGENT`, and complete the \
                 sessions with `matins session complete SESSION`"
                    .into(),
            ),
            Self::OtherNumberOfRuns { actual, .. } if actual.more => Some(format!(
                "narrow the filter, for example by a time: one request changes up to {MAX_COUNT} runs"
            )),
            Self::OtherNumberOfRuns { .. } => {
                Some("list the runs, and send the request with their present number".into())
            }
            Self::SessionClosed { .. } => {
                Some("`matins session list` lists the open sessions".into())
            }
            Self::GoalEnded { goal, .. } => {
                Some(format!("`matins goal report {goal}` prints its report"))
            }
            Self::KeyTaken(_) => Some("choose another `--key`".into()),
            Self::Probe { agent, install, .. } => Some(match install {
                Some(install) => {
                    format!("install it with {install}, then run `matins agent check {agent}`")
                }
                None => format!("`matins agent check {agent}` repeats the start alone"),
            }),
            Self::ContentOnOtherInstance { .. } => Some(
                "ask the server of that instance; `matins instance list` lists the instances".into(),
            ),
            Self::Store(store::Error::FixedBySession { name, .. }) => Some(format!(
                "`matins automation edit {name} --reset ...` detaches the automation from that session: \
                 the next run creates another session, and the old session stays"
            )),
            Self::Store(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }

    pub(crate) fn invalid(
        field: impl Into<Cow<'static, str>>,
        value: &str,
        problem: impl Into<String>,
    ) -> Self {
        const MAX_VALUE_CHARS: usize = 80;
        let mut shown: String = value.chars().take(MAX_VALUE_CHARS).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        let field = field.into();
        Self::Invalid {
            what: field.clone(),
            field,
            value: shown,
            problem: problem.into(),
        }
    }

    /// Returns the same error with `name` as the name of the field in messages.
    pub(crate) fn with_name(mut self, name: &'static str) -> Self {
        if let Self::Invalid { what, .. } = &mut self {
            *what = name.into();
        }
        self
    }

    /// Returns the same error with the path of the field that caused it.
    pub(crate) fn at_field(self, field: impl Into<String>) -> Self {
        Self::AtField(Box::new(FieldError {
            field: field.into(),
            error: self,
        }))
    }
}

fn list_command(what: &str) -> Option<String> {
    let command = [
        "agent",
        "automation",
        "session",
        "goal",
        "run",
        "approval",
        "question",
        "instance",
        "tenant",
        "token",
        "endpoint",
    ]
    .into_iter()
    .find(|command| what.ends_with(command))?;
    let all = match command {
        "session" | "approval" | "question" => " --all",
        _ => "",
    };
    Some(format!("`matins {command} list{all}` lists all {command}s"))
}
