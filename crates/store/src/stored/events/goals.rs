//! The body of a goal's event.

use model::goal::{GoalState, PauseReason, StuckCause};
use serde::{Deserialize, Serialize};

/// The state of a goal after a move. Its row has the kind of sessions, because a check of the table names the kinds, and a
/// new one would copy the log of each session. Programs that do not know this form find none of a session's forms in it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "goal", rename_all = "snake_case")]
pub(super) enum GoalBody {
    Draft {},
    Active {},
    Paused { reason: PauseReason },
    Stuck { cause: StuckCause },
    Done {},
    Cancelled {},
    GivenUp {},
}

impl GoalBody {
    pub(super) const fn of(state: GoalState) -> Self {
        match state {
            GoalState::Draft => Self::Draft {},
            GoalState::Active => Self::Active {},
            GoalState::Paused(reason) => Self::Paused { reason },
            GoalState::Stuck(cause) => Self::Stuck { cause },
            GoalState::Done => Self::Done {},
            GoalState::Cancelled => Self::Cancelled {},
            GoalState::GivenUp => Self::GivenUp {},
        }
    }

    pub(super) const fn into_state(self) -> GoalState {
        match self {
            Self::Draft {} => GoalState::Draft,
            Self::Active {} => GoalState::Active,
            Self::Paused { reason } => GoalState::Paused(reason),
            Self::Stuck { cause } => GoalState::Stuck(cause),
            Self::Done {} => GoalState::Done,
            Self::Cancelled {} => GoalState::Cancelled,
            Self::GivenUp {} => GoalState::GivenUp,
        }
    }
}
