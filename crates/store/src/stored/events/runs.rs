//! The body of a run's event.

use model::{
    AutomationId, Timestamp, TriggerId, WorkerId,
    event::{DeferCause, Occurrences, RunChange, RunInput, SkippedWork},
    run::Origin,
};
use serde::{Deserialize, Serialize};

/// The body of a run's event.
#[derive(Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(super) enum RunBody {
    Queued {
        #[serde(flatten)]
        input: QueuedBody,
    },
    Deferred {
        #[serde(flatten)]
        cause: DeferredBody,
    },
    Running {
        attempt: i64,
        worker_id: WorkerId,
    },
    Succeeded {
        attempt: i64,
        /// Always null. Earlier versions write the key for every end.
        #[serde(default)]
        reason: (),
    },
    Failed {
        attempt: i64,
        reason: String,
    },
    Cancelled {
        attempt: i64,
        reason: String,
    },
    Stalled {
        attempt: i64,
        reason: String,
    },
    Skipped {
        reason: String,
        #[serde(flatten)]
        skipped: SkippedBody,
    },
    Missed {
        reason: String,
        #[serde(flatten)]
        occurrences: OccurrencesBody,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum QueuedBody {
    Created(InputBody),
    Promoted {},
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum DeferredBody {
    Created(InputBody),
    Budget {
        reason: String,
        not_before: Timestamp,
    },
    SessionHeld {},
}

#[derive(Serialize, Deserialize)]
pub(super) struct InputBody {
    origin: Origin,
    attempt: i64,
    #[serde(default)]
    automation_id: Option<AutomationId>,
    #[serde(default)]
    scheduled_for: Option<Timestamp>,
    #[serde(default)]
    not_before: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SkippedBody {
    Attempt { attempt: i64 },
    Occurrences(OccurrencesBody),
}

#[derive(Serialize, Deserialize)]
pub(super) struct OccurrencesBody {
    #[serde(default)]
    trigger_id: Option<TriggerId>,
    #[serde(default)]
    scheduled_for: Option<Timestamp>,
    #[serde(default)]
    missed_until: Option<Timestamp>,
    occurrences: u64,
}

impl RunBody {
    pub(super) fn of(change: &RunChange) -> Self {
        match change.clone() {
            RunChange::Queued { input } => Self::Queued {
                input: input.map_or(QueuedBody::Promoted {}, |input| {
                    QueuedBody::Created(input.into())
                }),
            },
            RunChange::Deferred { cause } => Self::Deferred {
                cause: match cause {
                    DeferCause::Created(input) => DeferredBody::Created(input.into()),
                    DeferCause::SessionPaused => DeferredBody::SessionHeld {},
                    DeferCause::Budget { reason, not_before } => {
                        DeferredBody::Budget { reason, not_before }
                    }
                },
            },
            RunChange::Running { attempt, worker_id } => Self::Running { attempt, worker_id },
            RunChange::Succeeded { attempt } => Self::Succeeded {
                attempt,
                reason: (),
            },
            RunChange::Failed { attempt, reason } => Self::Failed { attempt, reason },
            RunChange::Cancelled { attempt, reason } => Self::Cancelled { attempt, reason },
            RunChange::Stalled { attempt, reason } => Self::Stalled { attempt, reason },
            RunChange::Skipped { reason, skipped } => Self::Skipped {
                reason,
                skipped: match skipped {
                    SkippedWork::Attempt(attempt) => SkippedBody::Attempt { attempt },
                    SkippedWork::Occurrences(all) => SkippedBody::Occurrences(all.into()),
                },
            },
            RunChange::Missed {
                reason,
                occurrences,
            } => Self::Missed {
                reason,
                occurrences: occurrences.into(),
            },
        }
    }

    pub(super) fn into_change(self) -> RunChange {
        match self {
            Self::Queued { input } => RunChange::Queued {
                input: match input {
                    QueuedBody::Created(input) => Some(input.into()),
                    QueuedBody::Promoted {} => None,
                },
            },
            Self::Deferred { cause } => RunChange::Deferred {
                cause: match cause {
                    DeferredBody::Created(input) => DeferCause::Created(input.into()),
                    DeferredBody::SessionHeld {} => DeferCause::SessionPaused,
                    DeferredBody::Budget { reason, not_before } => {
                        DeferCause::Budget { reason, not_before }
                    }
                },
            },
            Self::Running { attempt, worker_id } => RunChange::Running { attempt, worker_id },
            Self::Succeeded { attempt, .. } => RunChange::Succeeded { attempt },
            Self::Failed { attempt, reason } => RunChange::Failed { attempt, reason },
            Self::Cancelled { attempt, reason } => RunChange::Cancelled { attempt, reason },
            Self::Stalled { attempt, reason } => RunChange::Stalled { attempt, reason },
            Self::Skipped { reason, skipped } => RunChange::Skipped {
                reason,
                skipped: match skipped {
                    SkippedBody::Attempt { attempt } => SkippedWork::Attempt(attempt),
                    SkippedBody::Occurrences(all) => SkippedWork::Occurrences(all.into()),
                },
            },
            Self::Missed {
                reason,
                occurrences,
            } => RunChange::Missed {
                reason,
                occurrences: occurrences.into(),
            },
        }
    }
}

impl From<RunInput> for InputBody {
    fn from(input: RunInput) -> Self {
        Self {
            origin: input.origin,
            attempt: input.attempt,
            automation_id: input.automation_id,
            scheduled_for: input.scheduled_for,
            not_before: input.not_before,
        }
    }
}

impl From<InputBody> for RunInput {
    fn from(input: InputBody) -> Self {
        Self {
            origin: input.origin,
            attempt: input.attempt,
            automation_id: input.automation_id,
            scheduled_for: input.scheduled_for,
            not_before: input.not_before,
        }
    }
}

impl From<Occurrences> for OccurrencesBody {
    fn from(all: Occurrences) -> Self {
        Self {
            trigger_id: all.trigger_id,
            scheduled_for: all.scheduled_for,
            missed_until: all.missed_until,
            occurrences: all.count,
        }
    }
}

impl From<OccurrencesBody> for Occurrences {
    fn from(all: OccurrencesBody) -> Self {
        Self {
            trigger_id: all.trigger_id,
            scheduled_for: all.scheduled_for,
            missed_until: all.missed_until,
            count: all.occurrences,
        }
    }
}
