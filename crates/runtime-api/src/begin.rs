//! The beginning of a turn, and the decision of its precheck.

use std::path::Path;

use model::{
    AutomationId, RunId, SessionId, Timestamp, precheck,
    turn::{self, DeclineOutcome},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    InvalidField,
    assignment::{TurnAssignment, resolve_directory},
    result::RunFailure,
};

/// The request to begin the turn of a claimed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRequest {
    /// SHA-256 of the secret of the run, which only the runtime knows. A repetition with the same secret gets the same
    /// response.
    pub secret_hash: [u8; 32],
    /// `true` if the directory that a person gave the session is not on the machine of the runtime. The run is then
    /// refused.
    #[serde(default)]
    pub directory_missing: bool,
}

/// The response to the request to begin a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BeginReply {
    /// The turn has begun.
    Started {
        /// The input of the turn.
        assignment: Box<TurnAssignment>,
    },
    /// The precheck of the automation must run first.
    RunPrecheck {
        /// The precheck.
        job: Box<PrecheckJob>,
    },
    /// The run waits again.
    Deferred,
    /// The run was cancelled before its turn began.
    Cancelled,
    /// The run could not begin, and has failed.
    Refused {
        /// The reason.
        run_failure: RunFailure,
    },
    /// The worker does not have the run.
    Fenced,
    /// A status of a later version. The turn does not begin.
    #[serde(other)]
    Unknown,
}

impl BeginReply {
    /// Returns the reply. A session without a given directory has a folder of its own below `session_folders`.
    ///
    /// # Errors
    ///
    /// Returns an error if a value of the assignment is invalid.
    pub fn into_domain(
        self,
        session_folders: &Path,
    ) -> Result<turn::StartReply<turn::TurnAssignment>, InvalidField> {
        Ok(match self {
            Self::Started { assignment } => {
                turn::StartReply::Started(Box::new(assignment.into_domain(session_folders)?))
            }
            Self::RunPrecheck { job } => {
                turn::StartReply::RunPrecheck(Box::new(job.into_domain(session_folders)?))
            }
            // The store holds the reason, whatever it is.
            Self::Deferred | Self::Unknown => turn::StartReply::Deferred,
            Self::Cancelled => turn::StartReply::Cancelled,
            Self::Refused { run_failure } => turn::StartReply::Refused(run_failure.into()),
            Self::Fenced => turn::StartReply::Fenced,
        })
    }
}

impl From<turn::StartReply<turn::TurnAssignment>> for BeginReply {
    fn from(reply: turn::StartReply<turn::TurnAssignment>) -> Self {
        match reply {
            turn::StartReply::Started(assignment) => Self::Started {
                assignment: Box::new((*assignment).into()),
            },
            turn::StartReply::RunPrecheck(job) => Self::RunPrecheck {
                job: Box::new((*job).into()),
            },
            turn::StartReply::Deferred => Self::Deferred,
            turn::StartReply::Cancelled => Self::Cancelled,
            turn::StartReply::Refused(failure) => Self::Refused {
                run_failure: failure.into(),
            },
            turn::StartReply::Fenced => Self::Fenced,
        }
    }
}

/// A precheck to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrecheckJob {
    run: RunId,
    session: SessionId,
    #[serde(default)]
    directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seat_folder: Option<String>,
    automation: AutomationId,
    name: String,
    #[serde(default)]
    scheduled_for: Option<Timestamp>,
    command: Vec<String>,
    timeout_seconds: u32,
}

impl PrecheckJob {
    fn into_domain(self, session_folders: &Path) -> Result<precheck::PrecheckJob, InvalidField> {
        let Self {
            run,
            session,
            directory,
            seat_folder,
            automation,
            name,
            scheduled_for,
            command,
            timeout_seconds,
        } = self;
        Ok(precheck::PrecheckJob {
            run,
            session,
            directory: resolve_directory(
                directory.as_deref(),
                seat_folder,
                session,
                session_folders,
            )?,
            automation,
            name,
            scheduled_for,
            precheck: precheck::Precheck {
                command,
                timeout_seconds,
            },
        })
    }
}

impl From<precheck::PrecheckJob> for PrecheckJob {
    fn from(job: precheck::PrecheckJob) -> Self {
        let precheck::PrecheckJob {
            run,
            session,
            directory,
            automation,
            name,
            scheduled_for,
            precheck:
                precheck::Precheck {
                    command,
                    timeout_seconds,
                },
        } = job;
        Self {
            run,
            session,
            directory: directory.given().map(str::to_owned),
            seat_folder: directory.seat().map(str::to_owned),
            automation,
            name,
            scheduled_for,
            command,
            timeout_seconds,
        }
    }
}

/// The request to skip a run that its precheck has declined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclineRequest {
    /// The diagnostics of the precheck, for the run record.
    pub diagnostics: Value,
}

/// The response to the request to skip a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DeclineReply {
    /// The run is skipped, and the session that was made for it is deleted.
    WithSession,
    /// The worker does not have the run.
    Fenced,
    /// The run is skipped.
    #[serde(other)]
    Skipped,
}

impl From<DeclineOutcome> for DeclineReply {
    fn from(outcome: DeclineOutcome) -> Self {
        match outcome {
            DeclineOutcome::Skipped => Self::Skipped,
            DeclineOutcome::WithSession => Self::WithSession,
            DeclineOutcome::Fenced => Self::Fenced,
        }
    }
}

impl From<DeclineReply> for DeclineOutcome {
    fn from(reply: DeclineReply) -> Self {
        match reply {
            DeclineReply::Skipped => Self::Skipped,
            DeclineReply::WithSession => Self::WithSession,
            DeclineReply::Fenced => Self::Fenced,
        }
    }
}
