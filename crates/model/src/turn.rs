//! What passes between a turn and whoever keeps its ledger: the assignment, the answers to
//! heartbeats, what is recorded, and the end.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    budget::Accounts,
    entity::{Run, RunFlags, Seat, Session},
    harness::Harness,
    ids::{AcpSessionId, MessageId, RunId, SeatId},
    outcome::{Failure, Outcome},
    permission::PermissionRules,
    policy::Policies,
    precheck::Question,
    prompt::Rendered,
};

pub use crate::entry::{EntryKind, Role};

/// Everything that a turn needs.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The run, now `running`.
    pub run: Run,
    /// The session.
    pub session: Session,
    /// The seat, with its memory.
    pub seat: Seat,
    /// How to start the agent.
    pub harness: Harness,
    /// The policies that hold for the turn.
    pub policies: Policies,
    /// Rules that answer permission requests: the automation's and the harness's.
    pub permissions: PermissionRules,
    /// The prompt.
    pub prompt: Rendered,
    /// What is left of the budgets that hold for the turn.
    pub accounts: Accounts,
}

/// The answer to a wish to begin.
#[derive(Debug)]
pub enum Begin {
    /// The turn may begin.
    Started(Box<Assignment>),
    /// The turn may begin once its precheck was asked, which is to be said then.
    Ask(Box<Question>),
    /// The run waits again: its session is held, or a budget is used up.
    Held,
    /// The run was called off before it began.
    Cancelled,
    /// The run could not begin and has ended so.
    Refused(Failure),
    /// The run is no longer the worker's.
    Lost,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beat {
    /// Go on.
    GoOn,
    /// Call the turn off, for this reason.
    Cancel(String),
    /// The run is no longer the worker's: stop at once, and write nothing.
    Lost,
}

/// A row for the transcript. Written again under the same id, it replaces what it said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: MessageId,
    /// Whose words.
    pub role: Role,
    /// What it is.
    pub kind: EntryKind,
    /// Its words.
    pub content: String,
    /// Everything else.
    pub metadata: Value,
}

/// How a turn ended, with all that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The outcome.
    pub outcome: Outcome,
    /// The agent's answer, as far as it came.
    pub answer: String,
    /// The agent's own session, once it has one.
    pub acp_session_id: Option<AcpSessionId>,
    /// Whether the agent ended the turn itself, so that its session counts as the seat's memory.
    pub turn_ended: bool,
    /// What shows beside the outcome.
    pub flags: RunFlags,
    /// The tokens and the cost that the agent reported.
    pub usage: Option<Value>,
    /// The title that the agent gave the session.
    pub title: Option<String>,
    /// What the agent's process and the protocol left behind, for the run record.
    pub diagnostics: Value,
    /// The error in full, for the run record.
    pub error: Option<String>,
}

impl Finished {
    /// An end with an outcome and nothing else.
    pub fn bare(outcome: Outcome) -> Self {
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

/// What became of a write of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum Settled {
    /// It is written.
    Written,
    /// The run is no longer the worker's; nothing was written.
    Lost,
}

/// What became of a run whose precheck has declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum Declined {
    /// It is skipped.
    Skipped,
    /// It is skipped, and the session that was made for it alone is gone.
    WithSession,
    /// The run is no longer the worker's; nothing was written.
    Lost,
}

/// A run that a worker has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// The run.
    pub run: RunId,
    /// Its owner.
    pub tenant: crate::ids::TenantId,
    /// Which attempt at its input it is, from 1.
    pub attempt: i64,
    /// When its input came; of an occurrence, its instant.
    pub input_at: crate::time::Timestamp,
}

/// Where an input went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Submitted {
    /// The first attempt at it.
    pub run_id: RunId,
    /// The seat; none for an occurrence that was skipped.
    pub seat_id: Option<SeatId>,
    /// `queued`, `deferred` or `skipped`.
    pub status: crate::run::RunStatus,
}
