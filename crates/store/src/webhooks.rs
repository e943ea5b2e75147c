//! Webhook triggers, which fire when a signed request arrives: their secrets and receipts.

use model::{
    AutomationId, TenantId, Timestamp, TriggerId,
    signing_secret::{SigningSecret, SigningSecrets},
};

use crate::{
    Error, RecordedResponse, Scope, boxed,
    database::{Row, Tx},
    idempotency, retention,
    store::Store,
};

/// The maximum number of receipts that one transaction removes.
const MAX_TRIMMED_RECEIPTS: u32 = 500;

/// The data that is needed to verify a webhook request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTrigger {
    /// The trigger.
    pub id: TriggerId,
    /// The tenant of the trigger.
    pub tenant: TenantId,
    /// The automation that it fires.
    pub automation: AutomationId,
    /// The secrets that sign the requests.
    pub secrets: SigningSecrets,
}

impl Store {
    /// Returns the data that is needed to verify a webhook request. Returns `None` if the trigger or its automation
    /// does not exist or was removed.
    #[boxed]
    pub async fn webhook_trigger(
        &self,
        scope: Scope,
        id: TriggerId,
    ) -> Result<Option<WebhookTrigger>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let statement = sql!("webhooks/trigger");
        let row = tx
            .fetch_optional(statement, params![scope.tenant(), id])
            .await?;
        let read = |row: &Row| {
            Ok(WebhookTrigger {
                id: row.get("id")?,
                tenant: row.get("tenant_id")?,
                automation: row.get("automation_id")?,
                secrets: secrets(row)?,
            })
        };
        row.as_ref().map(read).transpose()
    }

    /// Replaces the secret of a trigger and returns the new one. The present secret stays valid until
    /// `previous_until`; the one before it becomes invalid.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if the response to the request is already recorded.
    pub async fn rotate_webhook_secret(
        &self,
        scope: Scope,
        id: TriggerId,
        previous_until: Timestamp,
        recorded: Option<RecordedResponse<'_>>,
        now: Timestamp,
    ) -> Result<SigningSecret, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // Record the response first, so that a repeated request does not rotate the secret again.
                idempotency::record_response_in_tx(tx, scope, recorded).await?;
                let found = tx
                    .fetch_optional(sql!("webhooks/trigger"), params![scope.tenant(), id])
                    .await?;
                found.ok_or_else(|| Error::not_found("webhook trigger", id))?;
                let secret = SigningSecret::generate(self.ids());
                tx.execute(
                    sql!("webhooks/rotate_secret"),
                    params![scope.tenant(), id, secret.reveal(), previous_until, now],
                )
                .await?;
                Ok(secret)
            })
        })
        .await
    }

    /// Removes some receipts of webhooks that arrived before an instant. Returns the number of removed rows. Returns
    /// 0 also while another process removes old rows.
    #[boxed]
    pub async fn trim_receipts(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !retention::try_retention_lock(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(
                        sql!("webhooks/trim_receipts"),
                        params![before, MAX_TRIMMED_RECEIPTS],
                    )
                    .await?)
            })
        })
        .await
    }

    /// Inserts the first secret of a trigger.
    pub(crate) async fn insert_secret(
        &self,
        tx: &mut Tx,
        tenant: TenantId,
        trigger: TriggerId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let secret = SigningSecret::generate(self.ids());
        tx.execute(
            sql!("webhooks/insert_secret"),
            params![trigger, tenant, secret.reveal(), now],
        )
        .await?;
        Ok(())
    }
}

/// Returns the secrets of a row.
pub(crate) fn secrets(row: &Row) -> Result<SigningSecrets, Error> {
    let previous: Option<SigningSecret> = row.parse_optional("previous_secret")?;
    let until: Option<Timestamp> = row.optional("previous_until")?;
    Ok(SigningSecrets {
        current: row.parse("secret")?,
        previous: previous.zip(until),
    })
}
