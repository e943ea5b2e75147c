//! Webhooks: those that come in, and notifications that go out.

use std::fmt;

use model::{
    AutomationId, DeliveryId, EndpointId, RunId, SessionId, Timestamp,
    notification::{self, DeliveryStatus, NotificationKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An address to which notifications go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Endpoint {
    /// Its ID.
    pub id: EndpointId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// Its address.
    pub url: String,
    /// The notifications that it gets.
    pub events: Vec<NotificationKind>,
    /// The only automation whose notifications it gets. Null: it gets those of all.
    pub automation_id: Option<AutomationId>,
    /// The only channel whose sessions it gets notifications of. Null: it gets those of all sessions.
    pub channel: Option<String>,
    /// The instant since which nothing has arrived, if the last attempt failed.
    pub failing_since: Option<Timestamp>,
    /// The instant at which it was disabled.
    pub disabled_at: Option<Timestamp>,
    /// The reason for which it was disabled.
    pub disabled_reason: Option<String>,
    /// The instant until which the previous secret holds beside the current one.
    pub previous_secret_until: Option<Timestamp>,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant of its last change.
    pub updated_at: Timestamp,
}

impl From<notification::Endpoint> for Endpoint {
    fn from(endpoint: notification::Endpoint) -> Self {
        let notification::Endpoint {
            id,
            name,
            url,
            events,
            automation_id,
            channel,
            failing_since,
            disabled_at,
            disabled_reason,
            previous_secret_until,
            created_at,
            updated_at,
        } = endpoint;
        Self {
            id,
            name,
            url,
            events,
            automation_id,
            channel,
            failing_since,
            disabled_at,
            disabled_reason,
            previous_secret_until,
            created_at,
            updated_at,
        }
    }
}

/// A notification on its way to an endpoint, or at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its ID, which is that of the webhook for every attempt.
    pub id: DeliveryId,
    /// The endpoint.
    pub endpoint_id: EndpointId,
    /// The session that it is about.
    pub session_id: Option<SessionId>,
    /// The event that it tells of.
    pub event_id: String,
    /// The kind of the notification.
    pub kind: NotificationKind,
    /// The body that is sent, byte for byte.
    pub body: String,
    /// Its state.
    pub state: DeliveryStatus,
    /// The number of attempts.
    pub attempts: i64,
    /// The instant of the next attempt.
    pub next_attempt_at: Option<Timestamp>,
    /// The HTTP status of the last response.
    pub last_status: Option<i64>,
    /// The reason for which the last attempt got no response.
    pub last_error: Option<String>,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant of its end.
    pub ended_at: Option<Timestamp>,
}

impl From<notification::Delivery> for Delivery {
    fn from(delivery: notification::Delivery) -> Self {
        let notification::Delivery {
            id,
            endpoint_id,
            session_id,
            event_id,
            kind,
            body,
            state,
            attempts,
            last_status,
            last_error,
            created_at,
        } = delivery;
        Self {
            id,
            endpoint_id,
            session_id,
            event_id,
            kind,
            body,
            state: state.status(),
            attempts,
            next_attempt_at: state.next_attempt_at(),
            last_status,
            last_error,
            created_at,
            ended_at: state.ended_at(),
        }
    }
}

/// The result of one attempt at a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    /// The number of the attempt, from 1.
    pub number: i64,
    /// The HTTP status of the response.
    pub status: Option<i64>,
    /// The reason for which there was no response.
    pub error: Option<String>,
    /// The beginning of the response.
    pub answer: Option<String>,
    /// The instant at which it began.
    pub started_at: Timestamp,
    /// The instant of its end.
    pub ended_at: Timestamp,
}

impl From<notification::DeliveryAttempt> for DeliveryAttempt {
    fn from(attempt: notification::DeliveryAttempt) -> Self {
        let notification::DeliveryAttempt {
            number,
            status,
            error,
            answer,
            started_at,
            ended_at,
        } = attempt;
        Self {
            number,
            status,
            error,
            answer,
            started_at,
            ended_at,
        }
    }
}

/// An endpoint that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointRequest {
    /// Its name.
    #[schema(min_length = 1)]
    pub name: String,
    /// Where it is: an address with https, or with http where that is allowed.
    #[schema(min_length = 1)]
    pub url: String,
    /// What it is told of: all but `endpoint.test`.
    #[schema(min_items = 1)]
    pub events: Vec<NotificationKind>,
    /// The only automation of which it is told, by name or id; absent: of everything.
    #[serde(default)]
    pub automation: Option<String>,
    /// The only channel of whose sessions it is told; absent: of everything.
    #[serde(default)]
    pub channel: Option<String>,
}

/// An endpoint that was made, and the secret that signs what it is sent, shown this one time.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndpointMade {
    /// The endpoint.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// The secret, `whsec_...`; absent where the same request was made before.
    pub secret: Option<String>,
}

/// How a secret is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rotation {
    /// How long the secret that held so far holds as well, in seconds.
    #[schema(maximum = 2_592_000)]
    pub overlap_seconds: u32,
}

/// The longest that two secrets hold beside each other: 30 days, in seconds.
pub const MOST_OVERLAP_SECONDS: u32 = 30 * 24 * 60 * 60;

impl Default for Rotation {
    fn default() -> Self {
        Self {
            overlap_seconds: 24 * 60 * 60,
        }
    }
}

/// A secret that took the place of another one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretRotated {
    /// The secret, `whsec_...`; absent where the same request was made before.
    pub secret: Option<String>,
    /// Until when the one before holds as well.
    pub previous_until: Timestamp,
}

/// The secret with which webhooks of a trigger are signed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    /// The secret, `whsec_...`.
    pub secret: String,
    /// Where signed requests are sent, relative to the server.
    pub path: String,
}

/// A delivery with what became of its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// The delivery.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The log of its attempts.
    pub log: Vec<DeliveryAttempt>,
}

impl DeliveryView {
    /// Returns the response for a delivery and its attempts.
    pub fn new(delivery: notification::Delivery, log: Vec<notification::DeliveryAttempt>) -> Self {
        Self {
            delivery: delivery.into(),
            log: log.into_iter().map(Into::into).collect(),
        }
    }
}

/// What became of a webhook that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceivedWebhook {
    /// The row of its occurrence: a run, or one that says why it was skipped.
    pub run_id: RunId,
    /// Whether it had been received before: then nothing was changed.
    pub already_received: bool,
}

impl fmt::Debug for EndpointMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointMade")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SecretRotated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRotated")
            .field("previous_until", &self.previous_until)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSecret")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
