//! The outcome of a run in lists.

use model::{RunId, Timestamp, run::RunStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The outcome of an input so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunOutcome {
    /// The run, which is the last attempt at the input.
    pub run_id: RunId,
    /// The status of the run.
    pub status: RunStatus,
    /// The reason for the end of the run, in one word. Null if the run succeeded.
    pub reason: Option<String>,
    /// A short text about the reason, for people.
    pub message: Option<String>,
    /// The number of due instants that the run stands for.
    pub occurrences: i64,
    /// The due instant. If the run is not for an occurrence, the instant at which the input arrived.
    pub at: Timestamp,
    /// The instant at which the turn began. Null if no turn has begun.
    pub started_at: Option<Timestamp>,
    /// The instant at which the run ended. Null if the run has not ended.
    pub ended_at: Option<Timestamp>,
}
