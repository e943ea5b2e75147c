//! Receives webhooks that fire triggers.
//!
//! **Invariants:** the body is not interpreted before its signature is verified. A caller without the secret cannot
//! find out whether a trigger exists.

use crate::boxed;
use api_types::ReceivedWebhook;
use model::{Timestamp, TriggerId, limits, signing_secret::SigningSecret};
use store::{Scope, Store};
use webhook::{HeaderMap, VerifyError, verify};

/// The reason for which a webhook was refused. It does not tell whether the trigger exists.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The signature, the timestamp or the ID of the webhook is not valid.
    #[error(transparent)]
    Refused(#[from] VerifyError),
    /// The body is too long.
    #[error(
        "the body of the webhook is too long: accepted are up to {} bytes",
        limits::WEBHOOK_PAYLOAD_BYTES
    )]
    TooLong,
    /// The body is not UTF-8.
    #[error("the body of the webhook is not UTF-8")]
    NotText,
    /// The store failed. The sender may send the webhook again.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Receives a webhook for a trigger of any tenant: verifies its signature, then creates the occurrence and the
/// receipt of the webhook's ID in one transaction. An unknown trigger and a wrong signature get the same response
/// after the same work, so that the response time does not tell which triggers exist.
#[boxed]
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
    // A text that is not an ID is looked up like an unknown ID, so that both take the same time.
    let id = trigger
        .parse()
        .unwrap_or(TriggerId::from_uuid(uuid::Uuid::nil()));
    let Some(found) = store.webhook_trigger(Scope::System, id).await? else {
        // Verify against a dummy secret and refuse in any case, even if the caller has guessed that secret.
        let dummy = SigningSecret::generate(&ZeroEntropy);
        verify(&[&dummy], headers, body, now)?;
        return Err(VerifyError::InvalidSignature.into());
    };
    let verified = verify(&found.secrets.valid_at(now), headers, body, now)?;
    let payload = std::str::from_utf8(body).map_err(|_| WebhookError::NotText)?;
    let fired = store
        .fire_webhook(found.tenant, id, &verified.id, payload, now)
        .await;
    match fired {
        Ok(received) => Ok(ReceivedWebhook {
            run_id: received.run_id,
            already_received: received.is_duplicate,
        }),
        // The trigger was removed after the lookup.
        Err(store::Error::NotFound { .. }) => Err(VerifyError::InvalidSignature.into()),
        Err(error) => Err(error.into()),
    }
}

/// The randomness of the dummy secret, which is always zero.
struct ZeroEntropy;

impl model::Entropy for ZeroEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
