//! What a run waits for.

use model::{
    ApprovalId, RunId, Timestamp,
    run::{Origin, RunStatus},
    session::SessionState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waiting {
    /// A worker.
    Worker,
    /// The end of its backoff.
    Backoff {
        /// When that is.
        until: Timestamp,
    },
    /// A budget that is used up.
    Budget {
        /// When there is one again.
        until: Timestamp,
        /// Which one it is.
        reason: String,
    },
    /// Its session is held.
    Session {
        /// The state of the session.
        state: SessionState,
    },
    /// Another run on its seat, or of its automation.
    Run {
        /// The other run.
        run: RunId,
        /// Where that is in its life.
        status: RunStatus,
        /// Where the other's input came from.
        origin: Origin,
    },
    /// Its turn among those that wait.
    Turn,
    /// A person: its agent asks for a permission.
    Approval {
        /// What is to be decided; of several, the newest.
        approval: ApprovalId,
        /// What the agent asks for.
        title: String,
    },
}
