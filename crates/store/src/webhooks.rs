//! Triggers that fire when a signed request arrives: their secrets, and what was received for them.

use model::{
    AutomationId, TenantId, Timestamp, TriggerId,
    secret::{Secret, Secrets},
};

use crate::{
    Answered, Error, Scope, answers,
    database::{Row, Tx},
    retention,
    store::Store,
};

/// How many receipts one transaction removes at the most.
const RECEIPTS_AT_ONCE: u32 = 500;

/// What is needed to check a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTrigger {
    /// The trigger.
    pub id: TriggerId,
    /// Whose it is.
    pub tenant: TenantId,
    /// The automation that it fires.
    pub automation: AutomationId,
    /// The secrets with which its webhooks are signed.
    pub secrets: Secrets,
}

impl Store {
    /// Reads what is needed to check a webhook, if there is such a trigger and neither it nor its
    /// automation is removed.
    pub async fn webhook_trigger(
        &self,
        scope: Scope,
        id: TriggerId,
    ) -> Result<Option<WebhookTrigger>, Error> {
        let mut tx = self.db.read(scope).await?;
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

    /// Gives a trigger another secret, and answers with it. The one that held so far holds until
    /// `previous_until`, and the one before that no more. Refused with [`Error::Made`] where that was
    /// `answered` before.
    pub async fn rotate_webhook_secret(
        &self,
        scope: Scope,
        id: TriggerId,
        previous_until: Timestamp,
        answered: Option<Answered<'_>>,
        now: Timestamp,
    ) -> Result<Secret, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                answers::keep(tx, scope, answered).await?;
                let found = tx
                    .fetch_optional(sql!("webhooks/trigger"), params![scope.tenant(), id])
                    .await?;
                found.ok_or_else(|| Error::not_found("webhook trigger", id))?;
                let secret = Secret::generate(self.ids());
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

    /// Removes receipts of webhooks that came before an instant, some of them. Gives how many went;
    /// none also while another process removes what is old.
    pub async fn trim_receipts(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !retention::alone(tx).await? {
                    return Ok(0);
                }
                Ok(tx
                    .execute(
                        sql!("webhooks/trim_receipts"),
                        params![before, RECEIPTS_AT_ONCE],
                    )
                    .await?)
            })
        })
        .await
    }

    /// Keeps the first secret of a trigger.
    pub(crate) async fn insert_secret(
        &self,
        tx: &mut Tx,
        tenant: TenantId,
        trigger: TriggerId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let secret = Secret::generate(self.ids());
        tx.execute(
            sql!("webhooks/insert_secret"),
            params![trigger, tenant, secret.reveal(), now],
        )
        .await?;
        Ok(())
    }
}

/// Reads the secrets of a row.
pub(crate) fn secrets(row: &Row) -> Result<Secrets, Error> {
    let previous: Option<Secret> = row.parse_optional("previous_secret")?;
    let until: Option<Timestamp> = row.optional("previous_until")?;
    Ok(Secrets {
        current: row.parse("secret")?,
        previous: previous.zip(until),
    })
}
