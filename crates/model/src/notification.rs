//! Notifications that go out: what is told, to whom, and when it is tried again.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    ids::{AutomationId, DeliveryId, EndpointId, SessionId},
    limits,
    text_enum::text_enum,
    time::Timestamp,
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
    /// What an event of a log is told as, if it is. `kind` and `body` are the event's; `message` is the
    /// role and the kind of the row of the transcript that it announces.
    pub fn of_event(kind: &str, body: &Value, message: Option<(&str, &str)>) -> Option<Self> {
        let word = |field: &str| body.get(field).and_then(Value::as_str);
        match kind {
            "message" => {
                (message == Some(("assistant", "message"))).then_some(Self::MessagePublished)
            }
            "run" => match word("status")? {
                "succeeded" => Some(Self::RunSucceeded),
                "failed" => Some(Self::RunFailed),
                "skipped" => Some(Self::RunSkipped),
                "missed" => Some(Self::RunMissed),
                _ => None,
            },
            "automation" => match word("change")? {
                "paused" => Some(Self::AutomationPaused),
                "attention" => Some(Self::AutomationAttention),
                _ => None,
            },
            "approval" => (word("state")? == "pending").then_some(Self::ApprovalRequested),
            "session" => word("state").map(|_| Self::SessionState),
            _ => None,
        }
    }

    /// Whether an endpoint may ask for it. A test is sent whatever an endpoint asks for.
    pub fn can_be_chosen(self) -> bool {
        self != Self::EndpointTest
    }
}

text_enum! {
    /// Where a delivery is in its life.
    DeliveryState, "a state of a delivery" {
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
    /// Where it is in its life.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// When it is tried next.
    pub next_attempt_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<i64>,
    /// Why there was no answer the last time.
    pub last_error: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
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
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_event_is_told_as_what_it_is_or_not_at_all() {
        use NotificationKind as Kind;
        let answer = Some(("assistant", "message"));
        for (kind, body, message, expected) in [
            ("message", json!({}), answer, Some(Kind::MessagePublished)),
            ("message", json!({}), Some(("user", "message")), None),
            ("message", json!({}), Some(("assistant", "thought")), None),
            ("message", json!({}), None, None),
            (
                "run",
                json!({ "status": "succeeded" }),
                None,
                Some(Kind::RunSucceeded),
            ),
            (
                "run",
                json!({ "status": "failed" }),
                None,
                Some(Kind::RunFailed),
            ),
            (
                "run",
                json!({ "status": "skipped" }),
                None,
                Some(Kind::RunSkipped),
            ),
            (
                "run",
                json!({ "status": "missed" }),
                None,
                Some(Kind::RunMissed),
            ),
            ("run", json!({ "status": "queued" }), None, None),
            ("run", json!({}), None, None),
            (
                "automation",
                json!({ "change": "paused" }),
                None,
                Some(Kind::AutomationPaused),
            ),
            (
                "automation",
                json!({ "change": "attention" }),
                None,
                Some(Kind::AutomationAttention),
            ),
            ("automation", json!({ "change": "created" }), None, None),
            (
                "session",
                json!({ "state": "done" }),
                None,
                Some(Kind::SessionState),
            ),
            ("session", json!({ "title": "x" }), None, None),
            (
                "approval",
                json!({ "state": "pending" }),
                None,
                Some(Kind::ApprovalRequested),
            ),
            ("approval", json!({ "state": "allowed" }), None, None),
            ("task", json!({ "status": "succeeded" }), None, None),
        ] {
            let told = NotificationKind::of_event(kind, &body, message);
            assert_eq!(told, expected, "{kind} {body}");
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
