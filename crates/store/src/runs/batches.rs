//! The transitions of runs that are committed in batches, and what each takes.

use model::{
    InputId, InstanceId, RunId, SessionId, TenantId, Timestamp, WorkerId,
    turn::{Beat, Begin, Entry, Finished, Settled, Submitted},
};

use crate::{batch::Batcher, error::Error};

/// A batcher for each of the transitions.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) say: Batcher<Words, Result<Submitted, Error>>,
    pub(crate) begin: Batcher<Beginning, Begin>,
    pub(crate) beat: Batcher<Beating, Beat>,
    pub(crate) record: Batcher<Recording, Settled>,
    pub(crate) finish: Batcher<Finishing, Settled>,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            say: Batcher::new(Words::alike),
            begin: Batcher::new(Beginning::alike),
            beat: Batcher::new(Beating::alike),
            record: Batcher::new(|_, _| true),
            finish: Batcher::new(|_, _| true),
        }
    }
}

/// Words for a session's entry seat.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) input: InputId,
    /// Whether the input's id was reserved, so that it may be there already.
    pub(crate) reserved: bool,
    pub(crate) content: String,
    pub(crate) now: Timestamp,
}

impl Words {
    /// Whether both may be written in one transaction.
    fn alike(&self, other: &Self) -> bool {
        self.tenant == other.tenant
    }
}

/// A run whose turn is to begin.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) instance: InstanceId,
    /// Whether its precheck was asked.
    pub(crate) asked: bool,
    pub(crate) now: Timestamp,
}

impl Beginning {
    /// Whether both may begin in one transaction.
    fn alike(&self, other: &Self) -> bool {
        self.worker == other.worker && self.instance == other.instance
    }
}

/// A heartbeat of one run.
#[derive(Debug, Clone)]
pub(crate) struct Beating {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) now: Timestamp,
}

impl Beating {
    /// Whether both may be renewed in one transaction.
    fn alike(&self, other: &Self) -> bool {
        self.worker == other.worker
    }
}

/// Rows of the transcript that a worker writes for a run.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) entries: Vec<Entry>,
    pub(crate) now: Timestamp,
}

/// A run that its worker has finished.
#[derive(Debug, Clone)]
pub(crate) struct Finishing {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) finished: Finished,
    pub(crate) now: Timestamp,
}
