//! The messages between a turn and the `TurnStore` that stores its progress: the assignment, the replies to heartbeats,
//! the rows of the transcript, and the end.
//!
//! **Invariant:** a write of a worker that no longer owns the run changes nothing and returns `Fenced`, so that a stale
//! worker cannot overwrite the work of its successor.

use serde::Serialize;
use serde_json::Value;

use crate::{
    ids::{AcpSessionId, MessageId, RunId, SeatId},
    outcome::{Outcome, RunFailure},
    precheck::PrecheckJob,
    run::RunFlags,
};

pub use crate::{
    assignment::{Assignment, SeatMemory, TurnAssignment, TurnPolicies},
    entry::{EntryKind, Role},
};

/// The reply to a worker that requests to begin its claimed run. The store replies with an [`Assignment`], of which the
/// turn gets the [`TurnAssignment`].
#[derive(Debug, PartialEq, Eq)]
pub enum StartReply<A = Assignment> {
    /// The turn has begun.
    Started(Box<A>),
    /// The automation has a precheck. The worker must run it and report its result with its next request.
    RunPrecheck(Box<PrecheckJob>),
    /// The run waits again: its session is paused, a budget is used up, only a later version of Matins supports the
    /// settings of its automation, or this server does not have its directory.
    Deferred,
    /// The run was cancelled before its turn began.
    Cancelled,
    /// The run could not begin, and has failed for this reason.
    Refused(RunFailure),
    /// The worker no longer owns the run, and must write nothing.
    Fenced,
}

impl StartReply {
    /// Returns the reply with the part of the assignment that the turn needs.
    pub fn for_turn(self) -> StartReply<TurnAssignment> {
        match self {
            Self::Started(assignment) => StartReply::Started(Box::new((*assignment).into())),
            Self::RunPrecheck(job) => StartReply::RunPrecheck(job),
            Self::Deferred => StartReply::Deferred,
            Self::Cancelled => StartReply::Cancelled,
            Self::Refused(failure) => StartReply::Refused(failure),
            Self::Fenced => StartReply::Fenced,
        }
    }
}

/// The reply to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeartbeatReply {
    /// The turn continues.
    Continue,
    /// The turn must be cancelled, for this reason.
    Cancel(String),
    /// The worker no longer owns the run, and must stop at once and write nothing.
    Fenced,
}

/// A row of the transcript. A second write with the same ID replaces the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The ID of the row.
    pub id: MessageId,
    /// The author.
    pub role: Role,
    /// The kind of the row.
    pub kind: EntryKind,
    /// The text of the row.
    pub content: String,
    /// Structured details, such as the input of a tool call.
    pub metadata: Value,
}

/// The end of a turn, with everything that is stored about it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// The outcome.
    pub outcome: Outcome,
    /// The agent's answer, as far as it was received.
    pub answer: String,
    /// The agent's own session. `None` if the agent opened no session.
    pub acp_session_id: Option<AcpSessionId>,
    /// `true` if the agent ended the turn itself, so that its session counts as the seat's memory.
    pub turn_ended: bool,
    /// Observations about the turn, beside its outcome.
    pub flags: RunFlags,
    /// The tokens and the cost that the agent has reported so far.
    pub usage: Option<Value>,
    /// The title that the agent gave the session.
    pub title: Option<String>,
    /// Diagnostics of the agent's process and the protocol, for the run record.
    pub diagnostics: Value,
    /// The full error, for the run record.
    pub error: Option<String>,
}

impl TurnResult {
    /// Returns a result with an outcome and nothing else.
    pub fn with_outcome(outcome: Outcome) -> Self {
        Self {
            outcome,
            answer: String::new(),
            acp_session_id: None,
            turn_ended: false,
            flags: RunFlags::default(),
            usage: None,
            title: None,
            diagnostics: Value::Object(serde_json::Map::new()),
            error: None,
        }
    }
}

/// The result of a fenced write of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WriteOutcome {
    /// The write is committed.
    Committed,
    /// The worker no longer owns the run, and nothing was written.
    Fenced,
}

/// The result of skipping a run after its precheck declined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum DeclineOutcome {
    /// The run is skipped.
    Skipped,
    /// The run is skipped, and the session that was created for it alone is deleted. The worker must remove the
    /// session's folder.
    WithSession,
    /// The worker no longer owns the run, and nothing was written.
    Fenced,
}

/// A run that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The run.
    pub run: RunId,
    /// The tenant that owns the run.
    pub tenant: crate::ids::TenantId,
    /// The number of the attempt at its input, from 1.
    pub attempt: i64,
    /// The instant at which the input arrived. For an occurrence: its due instant.
    pub input_at: crate::time::Timestamp,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    pub directory: Option<String>,
}

/// The result of submitting an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SubmittedRun {
    /// The run: the first attempt at the input.
    pub run_id: RunId,
    /// The seat. `None` if the occurrence was skipped.
    pub seat_id: Option<SeatId>,
    /// The status of the run: `queued`, `deferred` or `skipped`.
    pub status: crate::run::RunStatus,
}
