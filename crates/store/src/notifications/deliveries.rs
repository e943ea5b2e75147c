//! Deliveries of notifications: one sender claims each, and tries until the endpoint accepts it or the attempts
//! are used up.
//!
//! **Invariant:** an attempt is counted before it is made, and its number is its fence. If a sender dies in between,
//! the lease expires and another sender repeats the delivery under the same ID.

use model::{
    DeliveryId, EndpointId, SessionId, TenantId, Timestamp,
    lifecycle::InvalidTransition,
    limits,
    notification::{
        Delivery, DeliveryAttempt, DeliveryOutcome, DeliveryState, DeliveryStatus,
        NotificationKind, delivery_outcome,
    },
};

use super::{by_id, disable, endpoint, lock};
use crate::{
    Error, Scope, boxed,
    database::{Param, Row, Tx},
    retention,
    store::Store,
};

/// The maximum number of deliveries that one transaction removes.
const MAX_TRIMMED_DELIVERIES: u32 = 500;

/// A delivery that a sender has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    /// The tenant of the delivery.
    pub tenant: TenantId,
    /// The delivery. Its `attempts` include the attempt that the claim begins.
    pub delivery: Delivery,
}

/// A notification that is to be delivered.
///
/// The text is stored and sent as it is, byte for byte, so that a later version does not change a delivery that
/// already waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The kind of the notification.
    pub kind: NotificationKind,
    /// The ID of the event. An endpoint gets one delivery for each.
    pub event_id: String,
    /// The session that the event is about. Its deliveries go in order.
    pub session: Option<SessionId>,
    /// The text.
    pub body: String,
}

impl NewDelivery {
    /// Returns the parameters of `deliveries/insert`.
    pub(super) fn insert_params(
        &self,
        id: DeliveryId,
        tenant: TenantId,
        endpoint: EndpointId,
        now: Timestamp,
    ) -> Vec<Param> {
        params! { "deliveries/insert";
            id: id,
            tenant: tenant,
            endpoint: endpoint,
            session: self.session,
            event: self.event_id.as_str(),
            kind: self.kind.as_str(),
            body: self.body.as_str(),
            now: now,
        }
    }
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    /// The status and the beginning of the response, or the reason why there was none.
    pub response: Result<(u16, String), String>,
    /// The instant at which the attempt began.
    pub started_at: Timestamp,
    /// The instant at which the attempt ended.
    pub ended_at: Timestamp,
}

impl Store {
    /// Lists endpoints with due deliveries, the longest overdue first.
    #[boxed]
    pub async fn endpoints_due(
        &self,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<EndpointId>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("deliveries/due_endpoints"), params![now, limit])
            .await?;
        found
            .iter()
            .map(|row| Ok(row.get("endpoint_id")?))
            .collect()
    }

    /// Claims due deliveries of an endpoint, with a lease until `until`. No other sender claims them before that.
    #[boxed]
    pub async fn claim_deliveries(
        &self,
        endpoint: EndpointId,
        limit: u32,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<ClaimedDelivery>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let found = tx
                    .fetch_all(
                        sql_by_dialect!("deliveries/claim"),
                        params![endpoint, now, until, limit],
                    )
                    .await?;
                let mut claimed = found
                    .iter()
                    .map(claimed_delivery)
                    .collect::<Result<Vec<_>, _>>()?;
                // `returning` has no order, and the deliveries of a session must be sent in order.
                claimed.sort_by_key(|claim| claim.delivery.id);
                Ok(claimed)
            })
        })
        .await
    }

    /// Records the result of an attempt and its consequences, and returns the state to which the result leads. If
    /// another attempt has begun since, because the lease had expired, only adds the result to the log of attempts.
    #[boxed]
    pub async fn record_attempt(
        &self,
        claimed: &ClaimedDelivery,
        attempted: &AttemptResult,
    ) -> Result<DeliveryStatus, Error> {
        let ClaimedDelivery { tenant, delivery } = claimed;
        let (status, error, text) = match &attempted.response {
            Ok((status, text)) => (Some(*status), None, Some(text.as_str())),
            Err(error) => (None, Some(error.as_str()), None),
        };
        let now = attempted.ended_at;
        let outcome = delivery_outcome(delivery.id, delivery.attempts, status);
        let (state, next) = match outcome {
            DeliveryOutcome::Delivered => (DeliveryStatus::Delivered, None),
            DeliveryOutcome::RetryAfter(pause) => (DeliveryStatus::Pending, Some(now + pause)),
            DeliveryOutcome::GivenUp | DeliveryOutcome::EndpointGone => {
                (DeliveryStatus::Failed, None)
            }
        };
        let scope = Scope::Tenant(*tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let (id, number) = (delivery.id, delivery.attempts);
                // 1. Lock the endpoint before its deliveries, the same order as in `disable`.
                lock(tx, delivery.endpoint_id).await?;
                // The delivery may have been deleted with its endpoint or its session.
                let statement = sql!("deliveries/by_id");
                if tx
                    .fetch_optional(statement, params![*tenant, id])
                    .await?
                    .is_none()
                {
                    return Ok(state);
                }
                // 2. Log the attempt, even if its lease has expired.
                let status = status.map(i64::from);
                tx.execute(
                    sql!("deliveries/insert_attempt"),
                    params! { "deliveries/insert_attempt";
                        delivery: id,
                        number: number,
                        tenant: *tenant,
                        status: status,
                        error: error,
                        answer: text,
                        started_at: attempted.started_at,
                        ended_at: now,
                    },
                )
                .await?;
                // 3. Record the result, fenced by the number of the attempt.
                let ended_at = next.is_none().then_some(now);
                let params = params! { "deliveries/record";
                    id: id,
                    attempt: number,
                    state: state.as_str(),
                    next_attempt_at: next,
                    status: status,
                    error: error,
                    ended_at: ended_at,
                };
                if tx.execute(sql!("deliveries/record"), params).await? > 0 {
                    apply_attempt(tx, scope, delivery.endpoint_id, outcome, now).await?;
                }
                Ok(state)
            })
        })
        .await
    }

    /// Lists the deliveries of an endpoint, the newest first, from the one before `before` on.
    #[boxed]
    pub async fn deliveries(
        &self,
        scope: Scope,
        endpoint: EndpointId,
        before: Option<DeliveryId>,
        limit: u32,
    ) -> Result<Vec<Delivery>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        by_id(&mut tx, scope, endpoint).await?;
        let found = tx
            .fetch_all(
                sql!("deliveries/list"),
                params![scope.tenant(), endpoint, before, limit],
            )
            .await?;
        found.iter().map(delivery).collect()
    }

    /// Returns a delivery and its attempts.
    #[boxed]
    pub async fn delivery(
        &self,
        scope: Scope,
        id: DeliveryId,
    ) -> Result<(Delivery, Vec<DeliveryAttempt>), Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let params = || params![scope.tenant(), id];
        let row = tx
            .fetch_optional(sql!("deliveries/by_id"), params())
            .await?;
        let row = row.ok_or_else(|| Error::not_found("delivery", id))?;
        let attempts = tx.fetch_all(sql!("deliveries/attempts"), params()).await?;
        let attempts = attempts.iter().map(attempt).collect::<Result<_, _>>()?;
        Ok((delivery(&row)?, attempts))
    }

    /// Sends a test delivery to an endpoint, whichever kinds of notifications it receives. The delivery gets the ID
    /// `delivery`.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyCreated`] if that ID is used, [`Error::Refused`] if the endpoint is disabled.
    #[boxed]
    pub async fn test_endpoint(
        &self,
        tenant: TenantId,
        id: EndpointId,
        delivery: DeliveryId,
        new: &NewDelivery,
        now: Timestamp,
    ) -> Result<(), Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // Lock first: of two requests with one ID, the second waits here and then finds the delivery of the
                // first.
                lock(tx, id).await?;
                let used = tx
                    .fetch_optional(sql!("deliveries/by_id"), params![tenant, delivery])
                    .await?;
                if used.is_some() {
                    return Err(Error::already_created("delivery", delivery));
                }
                require_enabled(tx, scope, id, "receive a test delivery").await?;
                let row = new.insert_params(delivery, tenant, id, now);
                tx.execute_rows(sql!("deliveries/insert"), vec![row], params![])
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Sends a finished delivery once more under the same ID. A delivery that has used up its attempts gets one more.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the endpoint is disabled or the delivery is still pending.
    #[boxed]
    pub async fn redeliver(
        &self,
        scope: Scope,
        id: DeliveryId,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let params = params![scope.tenant(), id];
                let row = tx.fetch_optional(sql!("deliveries/by_id"), params).await?;
                let found = delivery(&row.ok_or_else(|| Error::not_found("delivery", id))?)?;
                require_enabled(tx, scope, found.endpoint_id, "receive deliveries").await?;
                let params = params![scope.tenant(), id, now];
                match tx.execute(sql!("deliveries/redeliver"), params).await? {
                    0 => Err(refusal_error(
                        "delivery",
                        id.to_string(),
                        found.state.status().as_str(),
                        "be sent again",
                    )),
                    _ => Ok(()),
                }
            })
        })
        .await
    }

    /// Removes some finished deliveries that were created before an instant. Returns the number of removed rows.
    #[boxed]
    pub async fn trim_deliveries(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !retention::try_retention_lock(tx).await? {
                    return Ok(0);
                }
                let first = DeliveryId::first_at(before);
                Ok(tx
                    .execute(
                        sql!("deliveries/trim"),
                        params![first, MAX_TRIMMED_DELIVERIES],
                    )
                    .await?)
            })
        })
        .await
    }
}

/// Applies the consequences of an attempt to its endpoint, which may disable the endpoint.
async fn apply_attempt(
    tx: &mut Tx,
    scope: Scope,
    id: EndpointId,
    outcome: DeliveryOutcome,
    now: Timestamp,
) -> Result<(), Error> {
    let since = (outcome != DeliveryOutcome::Delivered).then_some(now);
    tx.execute(sql!("endpoints/set_failing"), params![id, since])
        .await?;
    match outcome {
        DeliveryOutcome::EndpointGone => {
            let reason = "the endpoint responded with `410 Gone`";
            disable(tx, scope, id, reason, now).await
        }
        DeliveryOutcome::GivenUp => {
            let found = endpoint(&by_id(tx, scope, id).await?)?;
            match found.failing_since {
                Some(since) if now.since(since) >= limits::DISABLE_ENDPOINT_AFTER => {
                    let reason = format!("no delivery has succeeded since {since}");
                    disable(tx, scope, id, &reason, now).await
                }
                _ => Ok(()),
            }
        }
        DeliveryOutcome::Delivered | DeliveryOutcome::RetryAfter(_) => Ok(()),
    }
}

/// Returns an endpoint.
///
/// # Errors
///
/// [`Error::Refused`] if the endpoint is disabled.
async fn require_enabled(
    tx: &mut Tx,
    scope: Scope,
    id: EndpointId,
    event: &str,
) -> Result<model::notification::Endpoint, Error> {
    let found = endpoint(&by_id(tx, scope, id).await?)?;
    if found.disabled_at.is_some() {
        return Err(refusal_error("endpoint", found.name, "disabled", event));
    }
    Ok(found)
}

fn refusal_error(kind: &'static str, object: String, state: &str, event: &str) -> Error {
    Error::Refused(InvalidTransition {
        what: kind,
        object: Some(object),
        state: state.into(),
        event: event.into(),
    })
}

fn claimed_delivery(row: &Row) -> Result<ClaimedDelivery, Error> {
    Ok(ClaimedDelivery {
        tenant: row.get("tenant_id")?,
        delivery: delivery(row)?,
    })
}

fn delivery(row: &Row) -> Result<Delivery, Error> {
    Ok(Delivery {
        id: row.get("id")?,
        endpoint_id: row.get("endpoint_id")?,
        session_id: row.optional("session_id")?,
        event_id: row.get("event_id")?,
        kind: row.parse("kind")?,
        body: row.get("body")?,
        state: match row.parse("state")? {
            DeliveryStatus::Pending => DeliveryState::Pending {
                next_attempt_at: row.get("next_attempt_at")?,
            },
            DeliveryStatus::Delivered => DeliveryState::Delivered {
                ended_at: row.get("ended_at")?,
            },
            DeliveryStatus::Failed => DeliveryState::Failed {
                ended_at: row.get("ended_at")?,
            },
        },
        attempts: row.get("attempts")?,
        last_status: row.optional("last_status")?,
        last_error: row.optional("last_error")?,
        created_at: row.get("created_at")?,
    })
}

fn attempt(row: &Row) -> Result<DeliveryAttempt, Error> {
    Ok(DeliveryAttempt {
        number: row.get("number")?,
        status: row.optional("status")?,
        error: row.optional("error")?,
        answer: row.optional("answer")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}
