//! The transitions of runs that are committed in batches, and the request of each.

use model::{
    InputId, InstanceId, RunId, SessionId, TenantId, Timestamp, WorkerId,
    turn::{Beat, Begin, Entry, Finished, Settled, Submitted},
};

use crate::{batch::Batcher, error::Error};

/// One batcher for each of these transitions.
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

/// A person's message for the entry seat of a session.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) input: InputId,
    /// `true` if the caller reserved the ID of the input, so that the input may already exist.
    pub(crate) reserved: bool,
    pub(crate) content: String,
    pub(crate) now: Timestamp,
}

impl Words {
    /// Returns `true` if one transaction may hold both messages.
    fn alike(&self, other: &Self) -> bool {
        self.tenant == other.tenant
    }
}

/// A request to begin the turn of a run.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) instance: InstanceId,
    /// `true` if the precheck of the run has already run.
    pub(crate) asked: bool,
    pub(crate) now: Timestamp,
}

impl Beginning {
    /// Returns `true` if one transaction may begin both turns.
    fn alike(&self, other: &Self) -> bool {
        self.worker == other.worker && self.instance == other.instance
    }
}

/// A request to renew the heartbeat of a run.
#[derive(Debug, Clone)]
pub(crate) struct Beating {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) now: Timestamp,
}

impl Beating {
    /// Returns `true` if one transaction may renew both heartbeats.
    fn alike(&self, other: &Self) -> bool {
        self.worker == other.worker
    }
}

/// A request to write rows of the transcript for a run.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) entries: Vec<Entry>,
    pub(crate) now: Timestamp,
}

/// A request to end a run.
#[derive(Debug, Clone)]
pub(crate) struct Finishing {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
    pub(crate) finished: Finished,
    pub(crate) now: Timestamp,
}
