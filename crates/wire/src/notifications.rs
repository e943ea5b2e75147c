//! Webhooks: those that come in, and notifications that go out.

use std::fmt;

use model::{
    RunId, Timestamp,
    notification::{Delivery, DeliveryAttempt, Endpoint, NotificationKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
