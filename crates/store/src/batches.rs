//! The transitions that are committed in batches, and the request of each.

use model::{
    InputId, InstanceId, RunId, SeatId, SessionId, TenantId, Timestamp, WorkerId,
    memory::MemoryEntry,
    turn::{Entry, HeartbeatReply, StartReply, SubmittedRun, TurnResult, WriteOutcome},
};

use crate::{
    batch::Batcher, error::Error, new_memory_entry::NewMemoryEntry, tool_caller::ToolCaller,
};

/// One batcher for each of these transitions.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) message: Batcher<MessageRequest, Result<SubmittedRun, Error>>,
    pub(crate) begin: Batcher<StartRequest, StartReply>,
    pub(crate) heartbeat: Batcher<HeartbeatRequest, HeartbeatReply>,
    pub(crate) record: Batcher<RecordRequest, WriteOutcome>,
    pub(crate) finish: Batcher<FinishRequest, WriteOutcome>,
    /// Only on SQLite.
    pub(crate) remember: Batcher<RememberRequest, Result<MemoryEntry, Error>>,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            message: Batcher::new(MessageRequest::may_share_batch),
            begin: Batcher::new(StartRequest::may_share_batch),
            heartbeat: Batcher::new(HeartbeatRequest::may_share_batch),
            record: Batcher::new(|_, _| true),
            finish: Batcher::new(|_, _| true),
            remember: Batcher::new(|_, _| true),
        }
    }
}

/// A person's message for a seat of a session.
#[derive(Debug, Clone)]
pub(crate) struct MessageRequest {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    /// The seat. `None`: the entry seat.
    pub(crate) seat: Option<SeatId>,
    pub(crate) input: InputId,
    /// `true` if the caller reserved the ID of the input, so that the input may already exist.
    pub(crate) reserved: bool,
    pub(crate) content: String,
    pub(crate) now: Timestamp,
}

impl MessageRequest {
    /// Returns `true` if one transaction may hold both messages.
    fn may_share_batch(&self, other: &Self) -> bool {
        self.tenant == other.tenant
    }
}

/// A request to begin the turn of a run.
#[derive(Debug, Clone)]
pub(crate) struct StartRequest {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) instance: InstanceId,
    /// `true` if the directory of the run is not on the instance, so that its turn must not begin.
    pub(crate) directory_missing: bool,
    /// `true` if the precheck of the run has already run.
    pub(crate) precheck_done: bool,
    /// SHA-256 of the run's secret. `None` if the start is never repeated.
    pub(crate) secret: Option<[u8; 32]>,
    pub(crate) now: Timestamp,
}

impl StartRequest {
    /// Returns `true` if one transaction may begin both turns.
    fn may_share_batch(&self, other: &Self) -> bool {
        self.worker == other.worker && self.instance == other.instance
    }
}

/// A request to renew the heartbeat of a run.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatRequest {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) now: Timestamp,
}

impl HeartbeatRequest {
    /// Returns `true` if one transaction may renew both heartbeats.
    fn may_share_batch(&self, other: &Self) -> bool {
        self.worker == other.worker
    }
}

/// A request to write rows of the transcript for a run.
#[derive(Debug, Clone)]
pub(crate) struct RecordRequest {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) entries: Vec<Entry>,
    pub(crate) now: Timestamp,
}

/// A request to end a run.
#[derive(Debug, Clone)]
pub(crate) struct FinishRequest {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) finished: TurnResult,
    pub(crate) now: Timestamp,
}

/// A request to write a memory entry for the agent of a running turn.
#[derive(Debug, Clone)]
pub(crate) struct RememberRequest {
    pub(crate) caller: ToolCaller,
    pub(crate) new: NewMemoryEntry,
    pub(crate) now: Timestamp,
}
