//! Why something that was asked for was not done.

use std::{borrow::Cow, fmt};

use model::{
    harness::RestoreBy, lifecycle::Refused, policy::InvalidPolicy, schedule, session::SessionState,
};

use crate::ProbeError;

/// What kind of thing went wrong; exit codes and HTTP statuses follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What was given cannot be taken.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It is there, and its state or its name does not allow it.
    Refused,
    /// An agent could not be started.
    Agent,
    /// The database failed.
    Database,
}

/// Why something that was asked for was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value cannot be taken.
    #[error("take the {what} {value:?}: {problem}")]
    Invalid {
        /// The field, as its path in a request.
        field: Cow<'static, str>,
        /// What people call it.
        what: Cow<'static, str>,
        /// What was given, shortened.
        value: String,
        /// What is wrong with it, and what is accepted.
        problem: String,
    },
    /// Something that is needed was not given.
    #[error("go on without {what}: {expected}")]
    Missing {
        /// The field, as its path in a request.
        field: &'static str,
        /// What is missing.
        what: &'static str,
        /// What is accepted.
        expected: String,
    },
    /// A schedule cannot be taken.
    #[error(transparent)]
    Schedule(#[from] schedule::Error),
    /// Policies contradict each other or the session mode.
    #[error("take the policies")]
    Policies(#[from] InvalidPolicy),
    /// Something in a field cannot be taken.
    #[error(transparent)]
    InField(Box<InField>),
    /// There is no such thing.
    #[error("find {what} {given:?}: there is none{}", did_you_mean(.nearest.as_deref()))]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// The id or name that was given.
        given: String,
        /// The known name most like it.
        nearest: Option<String>,
    },
    /// More than one thing begins like this.
    #[error("tell which {what} {given:?} is: more than one id begins so, among them {}", .candidates.join(" and "))]
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// The beginning that was given.
        given: String,
        /// Two of those that it may be.
        candidates: [String; 2],
    },
    /// The agent can restore no session in the way that its harness asks for.
    #[error(
        "use the harness {harness:?} for a session that goes on: its agent {}, so it can only run \
         automations with fresh sessions",
        offers_not(*.restore)
    )]
    CannotRestore {
        /// The harness.
        harness: String,
        /// How it is to restore.
        restore: RestoreBy,
    },
    /// The session takes no more inputs.
    #[error("use the session {session}: it is {state} and takes no more inputs")]
    SessionClosed {
        /// The session's key or id.
        session: String,
        /// Its state.
        state: SessionState,
    },
    /// The agent of a harness could not be started.
    #[error("start the agent of the harness {harness:?}")]
    Probe {
        /// The harness.
        harness: String,
        /// How to install it, where that is known.
        install: Option<String>,
        /// Why.
        source: ProbeError,
    },
    /// The state does not allow it.
    #[error("do that")]
    Refused(#[from] Refused),
    /// The store did not do it.
    #[error(transparent)]
    Store(store::Error),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

const fn offers_not(restore: RestoreBy) -> &'static str {
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
    /// What kind of thing went wrong.
    pub fn kind(&self) -> Kind {
        match self {
            Self::InField(within) => within.error.kind(),
            Self::Invalid { .. } | Self::Missing { .. } | Self::Schedule(_) | Self::Policies(_) => {
                Kind::Invalid
            }
            Self::NotFound { .. } | Self::Ambiguous { .. } => Kind::NotFound,
            Self::CannotRestore { .. }
            | Self::SessionClosed { .. }
            | Self::Refused(_)
            | Self::Store(
                store::Error::Exists { .. }
                | store::Error::Changed { .. }
                | store::Error::KeptBySession { .. }
                | store::Error::Served { .. }
                | store::Error::NewerFormat { .. },
            ) => Kind::Refused,
            Self::Probe { .. } => Kind::Agent,
            Self::Store(_) => Kind::Database,
        }
    }

    /// Whether a stored value makes no sense.
    pub(crate) fn is_nonsense(&self) -> bool {
        match self {
            Self::Store(error) => error.is_nonsense(),
            // What was stored was taken once, so that it is this program that cannot read it.
            Self::Schedule(_) => true,
            _ => false,
        }
    }

    /// The error with its sources in one line.
    pub fn chain(&self) -> String {
        let sources =
            std::iter::successors(std::error::Error::source(self), |error| error.source());
        sources.fold(self.to_string(), |text, source| format!("{text}: {source}"))
    }

    /// Whether it is not what it was when it was read.
    pub const fn is_changed(&self) -> bool {
        matches!(self, Self::Store(store::Error::Changed { .. }))
    }

    /// The field that is at fault, where one is, as its path in a request.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            Self::Missing { field, .. } => Some(field),
            Self::InField(within) => Some(&within.field),
            _ => None,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InField(within) => within.error.hint(),
            Self::NotFound { what, .. } => list_command(what),
            Self::Ambiguous { .. } => Some("give more of the id".into()),
            Self::CannotRestore { harness, .. } => Some(format!(
                "use fresh sessions, or another harness; `matins harness check {harness}` looks at \
                 the agent again"
            )),
            Self::SessionClosed { .. } => {
                Some("`matins session list` shows the sessions that are open".into())
            }
            Self::Probe {
                harness, install, ..
            } => Some(match install {
                Some(install) => {
                    format!("install it with {install}, then try `matins harness check {harness}`")
                }
                None => format!("`matins harness check {harness}` tries it alone"),
            }),
            Self::Store(store::Error::KeptBySession { name, .. }) => Some(format!(
                "`matins automation edit {name} --reset ...` lets go of that session: the next run \
                 begins another one, and the old one stays"
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
        const SHOWN_CHARS: usize = 80;
        let mut shown: String = value.chars().take(SHOWN_CHARS).collect();
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

    /// The same of a value that people call something else than its field.
    pub(crate) fn called(mut self, name: &'static str) -> Self {
        if let Self::Invalid { what, .. } = &mut self {
            *what = name.into();
        }
        self
    }

    /// The same where what could not be taken stands in a field.
    pub(crate) fn in_field(self, field: impl Into<String>) -> Self {
        Self::InField(Box::new(InField {
            field: field.into(),
            error: self,
        }))
    }
}

fn list_command(what: &str) -> Option<String> {
    let command = [
        "harness",
        "automation",
        "session",
        "run",
        "approval",
        "instance",
    ]
    .into_iter()
    .find(|command| what.ends_with(command))?;
    let all = match command {
        "session" | "approval" => " --all",
        _ => "",
    };
    Some(format!("`matins {command} list{all}` shows what there is"))
}

/// An error that reads as it is, with the field that only those know who see the whole request.
#[derive(Debug)]
pub struct InField {
    /// The field, as its path in a request.
    pub(crate) field: String,
    /// What is wrong with what stands there.
    pub(crate) error: Error,
}

impl fmt::Display for InField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for InField {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
