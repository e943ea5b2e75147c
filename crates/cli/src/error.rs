//! The results of commands: exit codes, and errors with hints.

use std::process::ExitCode;

use api_types::ProblemKind;
use serde_json::json;

use crate::output::{Output, OutputError};

/// The table of exit codes in the help.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  failure: an agent cannot be started, the doctor found a problem, or
       an unexpected error
    2  the command line, the configuration or a value in them is invalid
    3  the object does not exist
    4  the state or the name of the object, or a policy, does not allow the
       operation
    5  the turn did not succeed
    6  the database, the data folder or the environment does not work
    7  nothing was done, because it needs your consent: automations are bound
       to the session, or an operation on many runs is not confirmed
    8  not signed in, the token lacks a permission, or an agent runs the
       command
  130  interrupted by Ctrl-C

With --json, results are JSON documents: one document per line from demo,
serve and trace, and one document from other commands. Errors are JSON
documents on standard error.";

/// The result of a command, with one exit code each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command did its work.
    Done,
    /// The command failed for a reason that no other value describes.
    Failed,
    /// An argument, an option or the configuration is invalid.
    Usage,
    /// The object does not exist.
    NotFound,
    /// The state or the name of the object, or a policy, does not permit the operation.
    Refused,
    /// The turn did not succeed.
    TurnFailed,
    /// The database, the data folder or the environment does not work.
    Environment,
    /// Nothing was done, because the user did not confirm the deletion of bound automations or an operation on many
    /// runs.
    Blocked,
    /// The request has no valid token, the token lacks the permission, or an agent runs the command.
    NotAllowed,
    /// The user interrupted the command with Ctrl-C.
    Interrupted,
}

impl Exit {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::TurnFailed => 5,
            Self::Environment => 6,
            Self::Blocked => 7,
            Self::NotAllowed => 8,
            Self::Interrupted => 130,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "invalid",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::TurnFailed => "turn_failed",
            Self::Environment => "environment",
            Self::Blocked => "blocked",
            Self::NotAllowed => "not_allowed",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The error of a command. Its message is complete without a prefix.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    error: anyhow::Error,
    hint: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
            hint: None,
        }
    }

    pub(crate) fn message(exit: Exit, message: impl Into<String>) -> Self {
        Self::new(exit, anyhow::Error::msg(message.into()))
    }

    /// Creates the error of a data folder, a file or another resource of the system. `message` names the operation
    /// that is impossible, such as "cannot write the file x"; `source` is its cause.
    pub(crate) fn environment(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::new(
            Exit::Environment,
            anyhow::Error::new(source).context(message.into()),
        )
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the message of the error and its sources, separated by colons.
    pub(crate) fn full_message(&self) -> String {
        format!("{:#}", self.error)
    }

    /// Returns the exit code of the error.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the error to standard error and returns the exit code. Prints nothing and returns success if standard
    /// output is a closed pipe, because the reader, such as `head`, wants no more output.
    pub(crate) fn report(&self, output: Output) -> Exit {
        if self
            .error
            .downcast_ref::<OutputError>()
            .is_some_and(OutputError::is_closed_pipe)
        {
            return Exit::Done;
        }
        let message = self.full_message();
        if output.json {
            let body = json!({
                "error": { "kind": self.exit.as_str(), "message": message, "hint": self.hint }
            });
            output.note_document(&body);
        } else {
            output.error(&message, self.hint.as_deref());
        }
        self.exit
    }
}

impl From<client::Error> for CliError {
    fn from(error: client::Error) -> Self {
        let exit = match error.kind() {
            Some(kind) => exit_of_problem(kind),
            None if matches!(error, client::Error::Invalid { .. }) => Exit::Usage,
            None => Exit::Environment,
        };
        let hint = match &error {
            client::Error::Problem(problem) => problem.hint.clone(),
            client::Error::Malformed { .. } => {
                Some("check that a Matins server runs at that address".to_owned())
            }
            client::Error::Unreachable { .. } => {
                Some("check that the server runs and that its address is right".to_owned())
            }
            client::Error::OtherVersion { .. } | client::Error::Invalid { .. } => None,
        };
        Self {
            hint,
            ..Self::new(exit, error)
        }
    }
}

/// Returns the exit code for a problem in an API response.
const fn exit_of_problem(kind: ProblemKind) -> Exit {
    match kind {
        ProblemKind::Invalid | ProblemKind::MethodNotAllowed => Exit::Usage,
        ProblemKind::Unauthenticated | ProblemKind::Forbidden => Exit::NotAllowed,
        ProblemKind::NotFound => Exit::NotFound,
        ProblemKind::Refused | ProblemKind::Changed => Exit::Refused,
        ProblemKind::Agent => Exit::Failed,
        ProblemKind::TooMany | ProblemKind::Unavailable | ProblemKind::Internal => {
            Exit::Environment
        }
    }
}

/// Errors of opening the data folder and the database in this process.
impl From<service::Error> for CliError {
    fn from(error: service::Error) -> Self {
        let hint = error.hint();
        Self {
            hint,
            ..Self::new(Exit::Environment, error)
        }
    }
}

impl From<store::Error> for CliError {
    fn from(error: store::Error) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self {
            hint,
            ..Self::new(Exit::Environment, error)
        }
    }
}

impl From<store::OpenError> for CliError {
    fn from(error: store::OpenError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self {
            hint,
            ..Self::new(Exit::Environment, error)
        }
    }
}

impl From<server::Error> for CliError {
    fn from(error: server::Error) -> Self {
        let error = match error {
            // The problem of an API response decides about the exit code.
            server::Error::Client(error) => return error.into(),
            error => error,
        };
        let exit = match &error {
            server::Error::Config(_) => Exit::Usage,
            server::Error::FolderLocked { .. } => Exit::Refused,
            _ => Exit::Environment,
        };
        let hint = error.hint();
        Self {
            hint,
            ..Self::new(exit, error)
        }
    }
}

impl From<OutputError> for CliError {
    fn from(error: OutputError) -> Self {
        Self::new(Exit::Failed, error)
    }
}
