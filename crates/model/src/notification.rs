//! Outgoing notifications: their kinds, the endpoints that receive them, and the retry decision for each delivery.
//!
//! **Invariant:** a logged change leads to at most one kind of notification ([`NotificationKind::of_change`]).

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{
    event::{ApprovalChange, AutomationChange, Change, QuestionChange},
    goal::{GoalState, PauseReason},
    ids::{AutomationId, DeliveryId, EndpointId, SessionId},
    limits,
    run::RunStatus,
    text_enum::text_enum,
    time::Timestamp,
    turn::{EntryKind, Role},
};

text_enum! {
    /// The kind of a notification.
    NotificationKind, "a kind of notification" {
        /// An agent's answer was added to the transcript.
        MessagePublished = "message.published",
        /// A run succeeded.
        RunSucceeded = "run.succeeded",
        /// A run failed.
        RunFailed = "run.failed",
        /// An occurrence was skipped, or the precheck declined its run.
        RunSkipped = "run.skipped",
        /// Occurrences were missed.
        RunMissed = "run.missed",
        /// An agent requests a permission that a person must decide.
        ApprovalRequested = "approval.requested",
        /// An automation was paused: by a person, by a budget, or by consecutive failures.
        AutomationPaused = "automation.paused",
        /// An automation needs a person's attention.
        AutomationAttention = "automation.attention",
        /// A session was created, renamed or moved to another state.
        SessionState = "session.state",
        /// A goal is reached.
        GoalDone = "goal.done",
        /// A goal was cancelled or given up.
        GoalFailed = "goal.failed",
        /// A goal was paused: by a person, by its budget or its time, or until a person approves its plan.
        GoalPaused = "goal.paused",
        /// A goal cannot go on by itself, and needs a person.
        GoalStuck = "goal.stuck",
        /// An agent asks a person a question.
        QuestionAsked = "question.asked",
        /// A person tests whether notifications arrive.
        EndpointTest = "endpoint.test",
    }
}

impl NotificationKind {
    /// Returns the kind of notification that a logged change leads to. Returns `None` if the change leads to none.
    pub fn of_change(change: &Change) -> Option<Self> {
        match change {
            Change::Message { role, kind, .. } => {
                let is_reply = (*role, *kind) == (Role::Assistant, EntryKind::Message);
                is_reply.then_some(Self::MessagePublished)
            }
            Change::Run { change, .. } => match change.status() {
                RunStatus::Succeeded => Some(Self::RunSucceeded),
                RunStatus::Failed => Some(Self::RunFailed),
                RunStatus::Skipped => Some(Self::RunSkipped),
                RunStatus::Missed => Some(Self::RunMissed),
                _ => None,
            },
            Change::Automation { change, .. } => match change {
                AutomationChange::Paused { .. } => Some(Self::AutomationPaused),
                AutomationChange::Attention { .. } => Some(Self::AutomationAttention),
                _ => None,
            },
            Change::Approval { change, .. } => {
                let is_request = matches!(change, ApprovalChange::Pending { .. });
                is_request.then_some(Self::ApprovalRequested)
            }
            Change::Session { .. } => Some(Self::SessionState),
            Change::Goal { state, .. } => match state {
                GoalState::Done => Some(Self::GoalDone),
                GoalState::Cancelled | GoalState::GivenUp => Some(Self::GoalFailed),
                GoalState::Stuck(_) | GoalState::Paused(PauseReason::Stuck) => {
                    Some(Self::GoalStuck)
                }
                GoalState::Paused(_) => Some(Self::GoalPaused),
                GoalState::Draft | GoalState::Active => None,
            },
            Change::Question { change, .. } => {
                let is_request = matches!(change, QuestionChange::Pending { .. });
                is_request.then_some(Self::QuestionAsked)
            }
            Change::Task { .. } | Change::Unknown { .. } => None,
        }
    }

    /// Returns `true` if a notification of this kind describes the goal of its session.
    pub const fn describes_goal(self) -> bool {
        matches!(
            self,
            Self::GoalDone
                | Self::GoalFailed
                | Self::GoalPaused
                | Self::GoalStuck
                | Self::QuestionAsked
        )
    }

    /// Returns `true` if an endpoint may subscribe to this kind. A test reaches its endpoint regardless of the
    /// endpoint's subscriptions.
    pub fn is_subscribable(self) -> bool {
        self != Self::EndpointTest
    }
}

text_enum! {
    /// The state of a delivery, without its data.
    DeliveryStatus, "a state of a delivery" {
        /// The delivery waits for its next attempt.
        Pending = "pending",
        /// The receiver accepted the notification.
        Delivered = "delivered",
        /// The delivery is given up.
        Failed = "failed",
    }
}

/// A subscription: an address that receives notifications of some kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The ID of the endpoint.
    pub id: EndpointId,
    /// The name of the endpoint, unique within the tenant.
    pub name: String,
    /// The address that receives the requests.
    pub url: String,
    /// The kinds of notifications that the endpoint receives.
    pub events: Vec<NotificationKind>,
    /// The only automation whose notifications the endpoint receives. `None`: all automations.
    pub automation_id: Option<AutomationId>,
    /// The only channel whose sessions' notifications the endpoint receives. `None`: all sessions.
    pub channel: Option<String>,
    /// The instant of the first failed attempt since the last success. `None` if the last attempt succeeded.
    pub failing_since: Option<Timestamp>,
    /// The instant at which the endpoint was disabled.
    pub disabled_at: Option<Timestamp>,
    /// The reason for which the endpoint was disabled.
    pub disabled_reason: Option<String>,
    /// The instant until which the previous secret still signs, beside the current one.
    pub previous_secret_until: Option<Timestamp>,
    /// The instant at which the endpoint was created.
    pub created_at: Timestamp,
    /// The instant of the last change.
    pub updated_at: Timestamp,
}

/// The delivery of one notification to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The ID of the delivery. Every attempt sends it as the webhook ID, so that receivers can drop duplicates.
    pub id: DeliveryId,
    /// The receiving endpoint.
    pub endpoint_id: EndpointId,
    /// The session that the notification is about.
    pub session_id: Option<SessionId>,
    /// The ID of the event that led to the notification.
    pub event_id: String,
    /// The kind of the notification.
    pub kind: NotificationKind,
    /// The exact body of the request.
    pub body: String,
    /// The state, with the data of that state.
    pub state: DeliveryState,
    /// The number of attempts so far.
    pub attempts: i64,
    /// The HTTP status of the last answer.
    pub last_status: Option<i64>,
    /// The reason for which the last attempt got no answer.
    pub last_error: Option<String>,
    /// The instant at which the delivery was created.
    pub created_at: Timestamp,
}

/// The state of a delivery, with the data that this state alone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The delivery waits for its next attempt.
    Pending {
        /// The instant of the next attempt.
        next_attempt_at: Timestamp,
    },
    /// The receiver accepted the notification.
    Delivered {
        /// The instant at which the receiver accepted it.
        ended_at: Timestamp,
    },
    /// The delivery is given up.
    Failed {
        /// The instant at which the delivery was given up.
        ended_at: Timestamp,
    },
}

impl DeliveryState {
    /// Returns the status: the state without its data.
    pub const fn status(self) -> DeliveryStatus {
        match self {
            Self::Pending { .. } => DeliveryStatus::Pending,
            Self::Delivered { .. } => DeliveryStatus::Delivered,
            Self::Failed { .. } => DeliveryStatus::Failed,
        }
    }

    /// Returns the instant of the next attempt. Returns `None` if the delivery is over.
    pub const fn next_attempt_at(self) -> Option<Timestamp> {
        match self {
            Self::Pending { next_attempt_at } => Some(next_attempt_at),
            Self::Delivered { .. } | Self::Failed { .. } => None,
        }
    }

    /// Returns the instant of the end. Returns `None` if the delivery is pending.
    pub const fn ended_at(self) -> Option<Timestamp> {
        match self {
            Self::Pending { .. } => None,
            Self::Delivered { ended_at } | Self::Failed { ended_at } => Some(ended_at),
        }
    }
}

/// One attempt at a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The number of the attempt, from 1.
    pub number: i64,
    /// The HTTP status of the answer. `None` if there was no answer.
    pub status: Option<i64>,
    /// The reason for which there was no answer.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
    /// The instant at which the attempt began.
    pub started_at: Timestamp,
    /// The instant at which the attempt ended.
    pub ended_at: Timestamp,
}

/// The consequence of one attempt for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver accepted the notification.
    Delivered,
    /// The next attempt follows after this pause.
    RetryAfter(Duration),
    /// The delivery is given up.
    GivenUp,
    /// The receiver answered 410 (Gone), so that its endpoint is disabled.
    EndpointGone,
}

/// Returns the consequence of the `attempts`-th attempt at a delivery. `status` is the HTTP status of the answer, or
/// `None` if there was no answer.
pub fn delivery_outcome(
    delivery: DeliveryId,
    attempts: i64,
    status: Option<u16>,
) -> DeliveryOutcome {
    match status {
        Some(200..=299) => DeliveryOutcome::Delivered,
        Some(410) => DeliveryOutcome::EndpointGone,
        _ if attempts >= limits::DELIVERY_ATTEMPTS => DeliveryOutcome::GivenUp,
        _ => DeliveryOutcome::RetryAfter(backoff(delivery, attempts)),
    }
}

/// Returns the pause after the `attempts`-th attempt: doubled with each attempt up to
/// [`limits::DELIVERY_BACKOFF_MAX`], and spread over its upper half, so that deliveries that failed together are not
/// retried together.
fn backoff(delivery: DeliveryId, attempts: i64) -> Duration {
    // At most 16 doublings: a larger shift would overflow, and the maximum is reached earlier.
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(16);
    let doubled = limits::DELIVERY_BACKOFF.saturating_mul(1 << doublings);
    let full = doubled.min(limits::DELIVERY_BACKOFF_MAX);
    // A hash instead of a random number keeps the decision reproducible.
    let hash = Sha256::new()
        .chain_update(delivery.uuid().as_bytes())
        .chain_update(attempts.to_be_bytes())
        .finalize();
    full / 2 + full / 2 * u32::from(hash[0]) / 255
}

#[cfg(test)]
mod tests;
