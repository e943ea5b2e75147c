//! Webhooks that come in.

use model::{Timestamp, TriggerId, limits, secret::Secret};
use store::{Scope, Store};
use webhook::{HeaderMap, Refusal, verify};
use wire::ReceivedWebhook;

/// Why a webhook was not taken. There is no telling from it whether there is such a trigger.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It is not one of somebody who knows the trigger's secret.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Its body is too long.
    #[error(
        "take the webhook: its body has more than {} bytes",
        limits::WEBHOOK_PAYLOAD_BYTES
    )]
    TooLong,
    /// Its body is no text.
    #[error("take the webhook: its body is not UTF-8")]
    NotText,
    /// The store could not keep it. It may be sent again.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Takes a webhook of any tenant: its signature is checked before anything of it is read, and what it
/// fires is committed with the receipt of its id. An unknown trigger and a wrong signature are answered
/// alike, after the same work.
pub async fn receive_webhook(
    store: &Store,
    trigger: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<ReceivedWebhook, WebhookError> {
    if body.len() > limits::WEBHOOK_PAYLOAD_BYTES {
        return Err(WebhookError::TooLong);
    }
    // What is no id is looked up as well.
    let id = trigger
        .parse()
        .unwrap_or(TriggerId::from_uuid(uuid::Uuid::nil()));
    let Some(found) = store.webhook_trigger(Scope::System, id).await? else {
        // Nobody's: even whoever knew it would be refused.
        let nobodys = Secret::generate(&Nobody);
        verify(&[&nobodys], headers, body, now)?;
        return Err(Refusal::Signature.into());
    };
    let verified = verify(&found.secrets.valid(now), headers, body, now)?;
    let payload = std::str::from_utf8(body).map_err(|_| WebhookError::NotText)?;
    let fired = store
        .fire_webhook(found.tenant, id, &verified.id, payload, now)
        .await;
    match fired {
        Ok(received) => Ok(ReceivedWebhook {
            run_id: received.run_id,
            already_received: received.again,
        }),
        // It was removed a moment ago.
        Err(store::Error::NotFound { .. }) => Err(Refusal::Signature.into()),
        Err(error) => Err(error.into()),
    }
}

/// Makes the secret of triggers that are not there.
struct Nobody;

impl model::Entropy for Nobody {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
