//! Notifications that go out: what is told, to whom, and when it is tried again.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{
    event::{ApprovalChange, AutomationChange, Change},
    ids::{AutomationId, DeliveryId, EndpointId, SessionId},
    limits,
    run::RunStatus,
    text_enum::text_enum,
    time::Timestamp,
    turn::{EntryKind, Role},
};

text_enum! {
    /// What a notification tells.
    NotificationKind, "a kind of notification" {
        /// An agent's answer was published.
        MessagePublished = "message.published",
        /// A run succeeded.
        RunSucceeded = "run.succeeded",
        /// A run failed.
        RunFailed = "run.failed",
        /// An occurrence was skipped.
        RunSkipped = "run.skipped",
        /// Occurrences were missed.
        RunMissed = "run.missed",
        /// An agent asks for a permission that a person is to give.
        ApprovalRequested = "approval.requested",
        /// An automation was paused, by a person or by itself.
        AutomationPaused = "automation.paused",
        /// A person should look at an automation.
        AutomationAttention = "automation.attention",
        /// A session moved to another state.
        SessionState = "session.state",
        /// Somebody tries whether notifications arrive.
        EndpointTest = "endpoint.test",
    }
}

impl NotificationKind {
    /// Returns the kind of notification that a logged change leads to; `None` if it leads to none.
    pub fn of_change(change: &Change) -> Option<Self> {
        match change {
            Change::Message { role, kind, .. } => {
                let is_answer = (*role, *kind) == (Role::Assistant, EntryKind::Message);
                is_answer.then_some(Self::MessagePublished)
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
            Change::Unknown { .. } => None,
        }
    }

    /// Whether an endpoint may ask for it. A test is sent whatever an endpoint asks for.
    pub fn can_be_chosen(self) -> bool {
        self != Self::EndpointTest
    }
}

text_enum! {
    /// The state of a delivery, without its data.
    DeliveryStatus, "a state of a delivery" {
        /// It is tried, or will be.
        Pending = "pending",
        /// The receiver has taken it.
        Delivered = "delivered",
        /// It is given up.
        Failed = "failed",
    }
}

/// An address to which notifications go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its id.
    pub id: EndpointId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// What it is told of.
    pub events: Vec<NotificationKind>,
    /// The only automation of which it is told; absent: of everything.
    pub automation_id: Option<AutomationId>,
    /// The only channel of whose sessions it is told; absent: of everything.
    pub channel: Option<String>,
    /// Since when nothing has arrived, if the last attempt failed.
    pub failing_since: Option<Timestamp>,
    /// When it was disabled.
    pub disabled_at: Option<Timestamp>,
    /// Why.
    pub disabled_reason: Option<String>,
    /// Until when the secret before holds beside the current one.
    pub previous_secret_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A notification on its way to an endpoint, or at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, which is that of the webhook for every attempt.
    pub id: DeliveryId,
    /// Where it goes.
    pub endpoint_id: EndpointId,
    /// The session that it is about.
    pub session_id: Option<SessionId>,
    /// The event that it tells of.
    pub event_id: String,
    /// What it tells.
    pub kind: NotificationKind,
    /// What is sent, to the letter.
    pub body: String,
    /// Its state, with the data of that state.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// The status of the last answer.
    pub last_status: Option<i64>,
    /// Why there was no answer the last time.
    pub last_error: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The state of a delivery, with the data that this state alone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// The delivery is tried, or will be.
    Pending {
        /// The instant of the next attempt.
        next_attempt_at: Timestamp,
    },
    /// The receiver has taken it.
    Delivered {
        /// The instant at which the receiver took it.
        ended_at: Timestamp,
    },
    /// No further attempt is made.
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

    /// Returns the instant of the next attempt. `None` if the delivery is over.
    pub const fn next_attempt_at(self) -> Option<Timestamp> {
        match self {
            Self::Pending { next_attempt_at } => Some(next_attempt_at),
            Self::Delivered { .. } | Self::Failed { .. } => None,
        }
    }

    /// Returns the instant of the end. `None` if the delivery is pending.
    pub const fn ended_at(self) -> Option<Timestamp> {
        match self {
            Self::Pending { .. } => None,
            Self::Delivered { ended_at } | Self::Failed { ended_at } => Some(ended_at),
        }
    }
}

/// What became of one attempt at a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Which attempt it was, from 1.
    pub number: i64,
    /// The status of the answer.
    pub status: Option<i64>,
    /// Why there was none.
    pub error: Option<String>,
    /// The beginning of the answer.
    pub answer: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Timestamp,
}

/// What a receiver's answer means for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has arrived.
    Delivered,
    /// It is tried again after a while.
    Again(Duration),
    /// It is given up.
    GivenUp,
    /// The receiver wants nothing more, ever: 410.
    Gone,
}

/// Decides what becomes of a delivery after its attempt `attempts` was answered with `status`, if it
/// was.
pub fn verdict(delivery: DeliveryId, attempts: i64, status: Option<u16>) -> Verdict {
    match status {
        Some(200..=299) => Verdict::Delivered,
        Some(410) => Verdict::Gone,
        _ if attempts >= limits::DELIVERY_ATTEMPTS => Verdict::GivenUp,
        _ => Verdict::Again(backoff(delivery, attempts)),
    }
}

/// The pause after a number of attempts: doubled each time, between half and all of it, so that what
/// failed together does not come back together.
fn backoff(delivery: DeliveryId, attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(16);
    let doubled = limits::DELIVERY_BACKOFF.saturating_mul(1 << doublings);
    let full = doubled.min(limits::DELIVERY_BACKOFF_MAX);
    let hash = Sha256::new()
        .chain_update(delivery.uuid().as_bytes())
        .chain_update(attempts.to_be_bytes())
        .finalize();
    full / 2 + full / 2 * u32::from(hash[0]) / 255
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        event::{Occurrences, RunChange, SessionChange, Skipped},
        ids::{ApprovalId, MessageId, RunId},
        session::SessionStatus,
    };

    #[test]
    fn each_change_leads_to_its_kind_of_notification_or_to_none() {
        use NotificationKind as Kind;
        for (change, expected) in [
            (
                message(Role::Assistant, EntryKind::Message),
                Some(Kind::MessagePublished),
            ),
            (message(Role::User, EntryKind::Message), None),
            (message(Role::Assistant, EntryKind::Thought), None),
            (
                run(RunChange::Succeeded { attempt: 1 }),
                Some(Kind::RunSucceeded),
            ),
            (run(failed()), Some(Kind::RunFailed)),
            (run(skipped()), Some(Kind::RunSkipped)),
            (run(missed()), Some(Kind::RunMissed)),
            (run(RunChange::Queued { input: None }), None),
            (automation(paused()), Some(Kind::AutomationPaused)),
            (automation(attention()), Some(Kind::AutomationAttention)),
            (automation(AutomationChange::Resumed), None),
            (session(SessionStatus::Done), Some(Kind::SessionState)),
            (approval(pending()), Some(Kind::ApprovalRequested)),
            (approval(ApprovalChange::Expired), None),
            (unknown("task"), None),
        ] {
            assert_eq!(NotificationKind::of_change(&change), expected, "{change:?}");
        }
    }

    fn message(role: Role, kind: EntryKind) -> Change {
        Change::Message {
            message_id: MessageId::from_uuid(Uuid::from_u128(1)),
            role,
            kind,
            to: None,
        }
    }

    fn run(change: RunChange) -> Change {
        let run_id = RunId::from_uuid(Uuid::from_u128(1));
        Change::Run { run_id, change }
    }

    fn failed() -> RunChange {
        RunChange::Failed {
            attempt: 1,
            reason: "timeout".into(),
        }
    }

    fn skipped() -> RunChange {
        RunChange::Skipped {
            reason: "overlap".into(),
            skipped: Skipped::Attempt(1),
        }
    }

    fn missed() -> RunChange {
        RunChange::Missed {
            reason: "the system was down".into(),
            occurrences: Occurrences {
                trigger_id: None,
                scheduled_for: None,
                missed_until: None,
                count: 1,
            },
        }
    }

    fn automation(change: AutomationChange) -> Change {
        let automation_id = AutomationId::from_uuid(Uuid::from_u128(1));
        Change::Automation {
            automation_id,
            change,
        }
    }

    fn paused() -> AutomationChange {
        let reason = "failures".into();
        AutomationChange::Paused { reason }
    }

    fn attention() -> AutomationChange {
        let text = "paused itself".into();
        AutomationChange::Attention { text }
    }

    fn session(state: SessionStatus) -> Change {
        let session_id = SessionId::from_uuid(Uuid::from_u128(1));
        let change = SessionChange::Created { state };
        Change::Session { session_id, change }
    }

    fn approval(change: ApprovalChange) -> Change {
        Change::Approval {
            approval_id: ApprovalId::from_uuid(Uuid::from_u128(1)),
            run_id: RunId::from_uuid(Uuid::from_u128(1)),
            tool_kind: "execute".into(),
            title: "ls".into(),
            change,
        }
    }

    fn pending() -> ApprovalChange {
        let deadline_at = Timestamp::from_microsecond(1).unwrap();
        ApprovalChange::Pending { deadline_at }
    }

    fn unknown(kind: &str) -> Change {
        Change::Unknown {
            kind: kind.into(),
            about: Uuid::from_u128(1),
        }
    }

    #[test]
    fn a_delivery_is_tried_again_less_and_less_often_and_then_given_up() {
        let delivery = DeliveryId::from_uuid(Uuid::from_u128(7));
        let mut total = Duration::ZERO;
        for attempt in 1..limits::DELIVERY_ATTEMPTS {
            let doubled = limits::DELIVERY_BACKOFF * (1 << (attempt - 1));
            let full = doubled.min(limits::DELIVERY_BACKOFF_MAX);
            for status in [None, Some(301), Some(404), Some(500)] {
                let Verdict::Again(pause) = verdict(delivery, attempt, status) else {
                    panic!("{attempt} {status:?}");
                };
                assert!(pause >= full / 2 && pause <= full, "{attempt}: {pause:?}");
                total += pause;
            }
        }
        assert!(total > Duration::from_hours(1), "{total:?}");
        let last = limits::DELIVERY_ATTEMPTS;
        assert_eq!(verdict(delivery, last, Some(500)), Verdict::GivenUp);
        assert_eq!(verdict(delivery, last + 1, None), Verdict::GivenUp);
        assert_eq!(verdict(delivery, last, Some(204)), Verdict::Delivered);
        assert_eq!(verdict(delivery, 1, Some(410)), Verdict::Gone);
    }

    #[test]
    fn what_failed_together_does_not_come_back_together() {
        let pauses: std::collections::BTreeSet<Duration> = (0..100)
            .map(|n| backoff(DeliveryId::from_uuid(Uuid::from_u128(n)), 5))
            .collect();
        assert!(pauses.len() > 50, "{}", pauses.len());
    }
}
