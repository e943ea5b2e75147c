//! Notification endpoints: the addresses that receive notifications.

mod deliveries;
mod feed;
mod notice;

use model::{
    AutomationId, EndpointId, TenantId, Timestamp,
    notification::{Endpoint, NotificationKind},
    signing_secret::{SigningSecret, SigningSecrets},
};

pub use deliveries::{AttemptResult, ClaimedDelivery, NewDelivery};
pub use feed::Subscription;
pub use notice::{Notice, NoticeAutomation, NoticeGoal, NoticeSession};

use crate::{
    Error, RecordedResponse, Scope, boxed,
    database::{Row, Tx},
    idempotency,
    store::Store,
    stored::{self, StoredNotificationKinds},
    webhooks::secrets,
};

/// The settings of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    /// The name of the endpoint, unique within the tenant.
    pub name: String,
    /// The address that receives the requests.
    pub url: String,
    /// The kinds of notifications that the endpoint receives.
    pub events: Vec<NotificationKind>,
    /// The only automation whose notifications the endpoint receives. `None`: all automations.
    pub automation: Option<AutomationId>,
    /// The only channel whose sessions' notifications the endpoint receives. `None`: all sessions.
    pub channel: Option<String>,
}

impl Store {
    /// Creates an endpoint with a generated secret. It receives notifications of later events only.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if the ID is used, [`Error::NameTaken`] if another endpoint has the name,
    /// [`Error::NotFound`] if the automation does not exist.
    #[boxed]
    pub async fn create_endpoint(
        &self,
        tenant: TenantId,
        id: EndpointId,
        new: &NewEndpoint,
        now: Timestamp,
    ) -> Result<SigningSecret, Error> {
        let head = self.feed_head(tenant).await?;
        // The cursor is older than the endpoint: an event that is committed in between is delivered, not lost.
        let created = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move {
                    // 1. Check the ID before the insert, so that a repetition, whose name is in use too, gets
                    // `AlreadyCreated` and not `NameTaken`.
                    let used = tx
                        .fetch_optional(sql!("endpoints/by_id"), params![tenant, id])
                        .await?;
                    if used.is_some() {
                        return Err(Error::already_created("endpoint", id));
                    }
                    // 2. Insert the endpoint with its secret.
                    let secret = SigningSecret::generate(self.ids());
                    tx.execute(
                        sql!("endpoints/insert"),
                        params! { "endpoints/insert";
                            id: id,
                            tenant: tenant,
                            name: new.name.as_str(),
                            url: new.url.as_str(),
                            events: stored::write::<StoredNotificationKinds>(&new.events).value,
                            automation: new.automation,
                            channel: new.channel.as_deref(),
                            secret: secret.reveal(),
                            cursor: head.to_string(),
                            now: now,
                        },
                    )
                    .await?;
                    Ok(secret)
                })
            })
            .await;
        created.map_err(|error| refusal_error(error, new))
    }

    /// Lists endpoints by name.
    #[boxed]
    pub async fn endpoints(&self, scope: Scope) -> Result<Vec<Endpoint>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("endpoints/list"), params![scope.tenant()])
            .await?;
        found.iter().map(endpoint).collect()
    }

    /// Returns one endpoint.
    #[boxed]
    pub async fn endpoint(&self, scope: Scope, id: EndpointId) -> Result<Endpoint, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        endpoint(&by_id(&mut tx, scope, id).await?)
    }

    /// Returns an endpoint and the secrets that sign its requests.
    #[boxed]
    pub async fn endpoint_secrets(
        &self,
        scope: Scope,
        id: EndpointId,
    ) -> Result<(Endpoint, SigningSecrets), Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = by_id(&mut tx, scope, id).await?;
        Ok((endpoint(&row)?, secrets(&row)?))
    }

    /// Changes an endpoint. Pending deliveries go to its new address.
    ///
    /// # Errors
    ///
    /// [`Error::StaleVersion`] if the last change of the endpoint is not at `seen`.
    #[boxed]
    pub async fn edit_endpoint(
        &self,
        scope: Scope,
        id: EndpointId,
        seen: Timestamp,
        to: &NewEndpoint,
        now: Timestamp,
    ) -> Result<(), Error> {
        let edited = self
            .transact(scope, |tx, _| {
                Box::pin(async move {
                    // 1. Read the stored names of events, so that the edit keeps those that this version does not know.
                    let before = by_id(tx, scope, id).await?;
                    let events =
                        StoredNotificationKinds::replacing(&to.events, before.json("events")?);
                    // 2. Write. Optimistic locking: the statement compares the time of the last change with `seen`.
                    // Let the time of a change always advance. Otherwise two changes within one microsecond would look
                    // like one, and the second writer would not notice the first.
                    let min_step = std::time::Duration::from_micros(1);
                    let changed = tx
                        .execute(
                            sql!("endpoints/edit"),
                            params! { "endpoints/edit";
                                tenant: scope.tenant(),
                                id: id,
                                changed_before: seen,
                                name: to.name.as_str(),
                                url: to.url.as_str(),
                                events: stored::to_json(&events),
                                automation: to.automation,
                                channel: to.channel.as_deref(),
                                now: now.max(seen + min_step),
                            },
                        )
                        .await?;
                    if changed == 0 {
                        return Err(Error::StaleVersion {
                            what: "endpoint",
                            name: to.name.clone(),
                        });
                    }
                    Ok(())
                })
            })
            .await;
        edited.map_err(|error| refusal_error(error, to))
    }

    /// Deletes an endpoint and all its deliveries.
    #[boxed]
    pub async fn delete_endpoint(&self, scope: Scope, id: EndpointId) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let params = params![scope.tenant(), id];
                match tx.execute(sql!("endpoints/delete"), params).await? {
                    0 => Err(Error::not_found("endpoint", id)),
                    _ => Ok(()),
                }
            })
        })
        .await
    }

    /// Replaces the secret of an endpoint and returns the new one. The previous secret also signs until
    /// `previous_until`.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if the response to the request is already recorded.
    pub async fn rotate_endpoint_secret(
        &self,
        scope: Scope,
        id: EndpointId,
        previous_until: Timestamp,
        recorded: Option<RecordedResponse<'_>>,
        now: Timestamp,
    ) -> Result<SigningSecret, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // Record the response first, so that a repeated request does not rotate the secret again.
                idempotency::record_response_in_tx(tx, scope, recorded).await?;
                let secret = SigningSecret::generate(self.ids());
                let params = params![scope.tenant(), id, secret.reveal(), previous_until, now];
                match tx.execute(sql!("endpoints/rotate_secret"), params).await? {
                    0 => Err(Error::not_found("endpoint", id)),
                    _ => Ok(secret),
                }
            })
        })
        .await
    }

    /// Disables an endpoint and gives up its pending deliveries. An endpoint that is already disabled keeps its reason.
    #[boxed]
    pub async fn disable_endpoint(
        &self,
        scope: Scope,
        id: EndpointId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                by_id(tx, scope, id).await?;
                disable(tx, scope, id, reason, now).await
            })
        })
        .await
    }

    /// Enables an endpoint. It receives notifications of later events only.
    #[boxed]
    pub async fn enable_endpoint(
        &self,
        tenant: TenantId,
        id: EndpointId,
        now: Timestamp,
    ) -> Result<(), Error> {
        let scope = Scope::Tenant(tenant);
        let head = self.feed_head(tenant).await?;
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                by_id(tx, scope, id).await?;
                tx.execute(
                    sql!("endpoints/enable"),
                    params![tenant, id, head.to_string(), now],
                )
                .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Locks an endpoint. The caller must do so before it locks any of its deliveries.
async fn lock(tx: &mut Tx, id: EndpointId) -> Result<(), Error> {
    Ok(tx
        .lock_rows(sql_of_postgres!("endpoints/lock"), vec![params![id]])
        .await?)
}

/// Disables an endpoint and gives up its pending deliveries.
async fn disable(
    tx: &mut Tx,
    scope: Scope,
    id: EndpointId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("endpoints/disable"),
        params![scope.tenant(), id, reason, now],
    )
    .await?;
    tx.execute(
        sql!("deliveries/give_up"),
        params![id, "the endpoint was disabled", now],
    )
    .await?;
    Ok(())
}

async fn by_id(tx: &mut Tx, scope: Scope, id: EndpointId) -> Result<Row, Error> {
    let params = params![scope.tenant(), id];
    let row = tx.fetch_optional(sql!("endpoints/by_id"), params).await?;
    row.ok_or_else(|| Error::not_found("endpoint", id))
}

/// Returns the error for an endpoint that the database refused.
fn refusal_error(error: Error, new: &NewEndpoint) -> Error {
    match (&error, new.automation) {
        (Error::Database(cause), _)
            if cause.conflict() == Some("notification_endpoints_one_per_name") =>
        {
            Error::NameTaken {
                what: "endpoint",
                name: new.name.clone(),
            }
        }
        (Error::Database(db::Error::MissingReference { .. }), Some(automation)) => {
            Error::not_found("automation", automation)
        }
        _ => error,
    }
}

fn endpoint(row: &Row) -> Result<Endpoint, Error> {
    Ok(Endpoint {
        id: row.get("id")?,
        name: row.get("name")?,
        url: row.get("url")?,
        events: stored::read::<StoredNotificationKinds>(row, "events")?,
        automation_id: row.optional("automation_id")?,
        channel: row.optional("channel")?,
        failing_since: row.optional("failing_since")?,
        disabled_at: row.optional("disabled_at")?,
        disabled_reason: row.optional("disabled_reason")?,
        previous_secret_until: row.optional("previous_until")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
