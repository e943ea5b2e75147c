//! Webhooks: incoming requests that fire triggers, and outgoing notifications to endpoints.

use std::fmt;

use model::{
    AutomationId, DeliveryId, EndpointId, RunId, SessionId, Timestamp,
    notification::{self, DeliveryStatus, NotificationKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An address that receives notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Endpoint {
    /// The ID of the endpoint.
    pub id: EndpointId,
    /// The name of the endpoint, unique for the tenant.
    pub name: String,
    /// The URL that receives the notifications.
    pub url: String,
    /// The kinds of notifications that the endpoint receives.
    pub events: Vec<NotificationKind>,
    /// The automation to which the notifications are limited. Null if the endpoint receives those of all automations.
    pub automation_id: Option<AutomationId>,
    /// The channel to which the notifications are limited. Null if the endpoint receives those of all sessions.
    pub channel: Option<String>,
    /// The instant since which all attempts have failed. Null if the last attempt did not fail.
    pub failing_since: Option<Timestamp>,
    /// The instant at which the endpoint was disabled. Null if the endpoint is enabled.
    pub disabled_at: Option<Timestamp>,
    /// The reason why the endpoint was disabled. Null if the endpoint is enabled.
    pub disabled_reason: Option<String>,
    /// The instant until which the previous secret signs as well. Null if there is no previous secret.
    pub previous_secret_until: Option<Timestamp>,
    /// The instant at which the endpoint was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the endpoint.
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

/// A delivery: one notification for one endpoint, with its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The ID of the delivery, sent as the header `webhook-id` with every attempt.
    pub id: DeliveryId,
    /// The endpoint.
    pub endpoint_id: EndpointId,
    /// The session of the event. Null if the event has none.
    pub session_id: Option<SessionId>,
    /// The ID of the event.
    pub event_id: String,
    /// The kind of the notification.
    pub kind: NotificationKind,
    /// The body of the notification, sent byte for byte in every attempt.
    pub body: String,
    /// The state of the delivery.
    pub state: DeliveryStatus,
    /// The number of attempts so far.
    pub attempts: i64,
    /// The instant of the next attempt. Null if there is none.
    pub next_attempt_at: Option<Timestamp>,
    /// The HTTP status of the last response. Null if there was no response.
    pub last_status: Option<i64>,
    /// The reason why the last attempt got no response. Null if there was a response.
    pub last_error: Option<String>,
    /// The instant at which the delivery was created.
    pub created_at: Timestamp,
    /// The instant at which the delivery ended. Null if the delivery has not ended.
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

/// An attempt of a delivery, with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    /// The number of the attempt, from 1.
    pub number: i64,
    /// The HTTP status of the response. Null if there was no response.
    pub status: Option<i64>,
    /// The reason why there was no response. Null if there was one.
    pub error: Option<String>,
    /// The beginning of the response body. Null if there was no response.
    pub answer: Option<String>,
    /// The instant at which the attempt began.
    pub started_at: Timestamp,
    /// The instant at which the attempt ended.
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

/// A request that creates or replaces an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointRequest {
    /// The name of the endpoint, unique for the tenant.
    #[schema(min_length = 1)]
    pub name: String,
    /// The URL that receives the notifications. The URL uses `https`, or `http` where the configuration allows the
    /// address.
    #[schema(min_length = 1)]
    pub url: String,
    /// The kinds of notifications that the endpoint receives. All but `endpoint.test` are accepted.
    #[schema(min_items = 1)]
    pub events: Vec<NotificationKind>,
    /// The name or the ID of the automation to which the notifications are limited. If absent, those of all
    /// automations.
    #[serde(default)]
    pub automation: Option<String>,
    /// The channel to which the notifications are limited. If absent, those of all sessions.
    #[serde(default)]
    pub channel: Option<String>,
}

/// A new endpoint. The response is the only one that has the secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndpointCreated {
    /// The endpoint.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// The secret that signs notifications, `whsec_...`. Null if the response repeats the one to an earlier request
    /// with the same idempotency key.
    pub secret: Option<String>,
}

/// A request that replaces a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RotationRequest {
    /// The time for which the previous secret stays valid, in seconds. Default: one day.
    #[schema(maximum = 2_592_000)]
    pub overlap_seconds: u32,
}

/// The maximum time for which two secrets are valid: 30 days, in seconds.
pub const MAX_OVERLAP_SECONDS: u32 = 30 * 24 * 60 * 60;

impl Default for RotationRequest {
    fn default() -> Self {
        Self {
            overlap_seconds: 24 * 60 * 60,
        }
    }
}

/// A secret that has replaced another one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretRotated {
    /// The new secret, `whsec_...`. Null if the response repeats the one to an earlier request with the same
    /// idempotency key.
    pub secret: Option<String>,
    /// The instant until which the previous secret stays valid.
    pub previous_until: Timestamp,
}

/// The secret that signs webhook requests to a trigger.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    /// The secret, `whsec_...`.
    pub secret: String,
    /// The path that takes signed requests, relative to the server.
    pub path: String,
}

/// A delivery, and the log of its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// The delivery.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The attempts in order.
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

/// The result of a webhook request that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceivedWebhook {
    /// The run of the request. The status of the run tells whether the occurrence was skipped.
    pub run_id: RunId,
    /// `true` if the same request had been received before, so that nothing changed.
    pub already_received: bool,
}

impl fmt::Debug for EndpointCreated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointCreated")
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
