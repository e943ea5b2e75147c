//! The server of a runtime, as the loop over its folder sees it.

use delivery::ForeignTrigger;
use futures::future::BoxFuture;
use model::RunId;
use turn::{TurnControl, TurnEnd, TurnStoreError};

use crate::turn_slots::TurnWaits;

/// A failed call of the server.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}")]
pub(crate) struct ServerError {
    /// The action that failed.
    pub(crate) action: &'static str,
    /// The cause.
    pub(crate) source: Box<dyn std::error::Error + Send + Sync>,
}

/// The result of claiming a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClaimOutcome {
    /// This worker has the run, and must take its turn.
    Claimed(ClaimedTurn),
    /// The run is over, waits again or does not exist. Its file has no purpose any more.
    Over,
    /// The run is not over, and another instance has to take it.
    NotOfInstance,
    /// The run cannot be claimed now: it waits, or another worker has it.
    NotNow,
}

/// A run that this worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimedTurn {
    /// The run.
    pub(crate) run: RunId,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    pub(crate) directory: Option<String>,
}

/// The result of requesting a run for the file of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FireOutcome {
    /// The server has created the run, now or when the same request came before.
    Fired(RunId),
    /// The server refuses the file, for this reason, and will refuse it again.
    Refused(String),
}

/// The calls that the loop makes.
pub(crate) trait TriggerServer: Send + Sync {
    /// Claims a run for this worker.
    fn claim(&self, run: RunId) -> BoxFuture<'_, Result<ClaimOutcome, ServerError>>;

    /// Takes the turn of a run that this worker has claimed. `waits` counts its waits for people.
    fn take_turn(
        &self,
        claimed: ClaimedTurn,
        control: TurnControl,
        waits: TurnWaits,
    ) -> BoxFuture<'_, Result<TurnEnd, TurnStoreError>>;

    /// Requests a run for the file of another program. Requests with one `key` create one run.
    fn fire(
        &self,
        trigger: ForeignTrigger,
        key: String,
    ) -> BoxFuture<'_, Result<FireOutcome, ServerError>>;
}
