//! Deliveries: taken by one sender at a time, tried until they have arrived or are given up.
//!
//! **Invariant:** an attempt is noted before it is made, and its number is its fence. Whoever is lost
//! between the two leaves a delivery that is sent again, under the same id.

use model::{
    DeliveryId, EndpointId, SessionId, TenantId, Timestamp,
    lifecycle::Refused,
    limits,
    notification::{
        Delivery, DeliveryAttempt, DeliveryState, DeliveryStatus, NotificationKind, Verdict,
        verdict,
    },
};

use super::{by_id, disable, endpoint, lock};
use crate::{
    Error, Scope,
    database::{Param, Row, Tx},
    retention,
    store::Store,
};

/// How many deliveries one transaction removes at the most.
const DELIVERIES_AT_ONCE: u32 = 500;

/// A delivery that was taken to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Whose it is.
    pub tenant: TenantId,
    /// The delivery; its `attempts` count this one.
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
    /// The parameters of `deliveries/insert`.
    pub(super) fn row(
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

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// The status and the beginning of the answer, or why there was none.
    pub answer: Result<(u16, String), String>,
    /// The instant at which the attempt began.
    pub started_at: Timestamp,
    /// The instant at which the attempt ended.
    pub ended_at: Timestamp,
}

impl Store {
    /// Lists endpoints that have something due, those that wait longest first.
    pub async fn endpoints_due(
        &self,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<EndpointId>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("deliveries/due_endpoints"), params![now, limit])
            .await?;
        found
            .iter()
            .map(|row| Ok(row.get("endpoint_id")?))
            .collect()
    }

    /// Takes deliveries of an endpoint, to be sent before `until`: nobody else takes them till then.
    pub async fn claim_deliveries(
        &self,
        endpoint: EndpointId,
        limit: u32,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let found = tx
                    .fetch_all(
                        sql_by_dialect!("deliveries/claim"),
                        params![endpoint, now, until, limit],
                    )
                    .await?;
                let mut claimed = found.iter().map(claimed).collect::<Result<Vec<_>, _>>()?;
                claimed.sort_by_key(|one| one.delivery.id);
                Ok(claimed)
            })
        })
        .await
    }

    /// Writes what became of an attempt, and what follows. One that lost its lease, so that another
    /// attempt was begun, writes into the log alone. Gives the delivery's state.
    pub async fn record_delivery(
        &self,
        claimed: &Claimed,
        attempted: &Attempted,
    ) -> Result<DeliveryStatus, Error> {
        let Claimed { tenant, delivery } = claimed;
        let (status, error, text) = match &attempted.answer {
            Ok((status, text)) => (Some(*status), None, Some(text.as_str())),
            Err(error) => (None, Some(error.as_str()), None),
        };
        let now = attempted.ended_at;
        let verdict = verdict(delivery.id, delivery.attempts, status);
        let (state, next) = match verdict {
            Verdict::Delivered => (DeliveryStatus::Delivered, None),
            Verdict::Again(pause) => (DeliveryStatus::Pending, Some(now + pause)),
            Verdict::GivenUp | Verdict::Gone => (DeliveryStatus::Failed, None),
        };
        let scope = Scope::Tenant(*tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let (id, number) = (delivery.id, delivery.attempts);
                lock(tx, delivery.endpoint_id).await?;
                // It may have gone with its endpoint or its session.
                let there = sql!("deliveries/by_id");
                if tx
                    .fetch_optional(there, params![*tenant, id])
                    .await?
                    .is_none()
                {
                    return Ok(state);
                }
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
                    follow(tx, scope, delivery.endpoint_id, verdict, now).await?;
                }
                Ok(state)
            })
        })
        .await
    }

    /// Lists the deliveries of an endpoint, the newest first, from the one before `before` on.
    pub async fn deliveries(
        &self,
        scope: Scope,
        endpoint: EndpointId,
        before: Option<DeliveryId>,
        limit: u32,
    ) -> Result<Vec<Delivery>, Error> {
        let mut tx = self.db.read(scope).await?;
        by_id(&mut tx, scope, endpoint).await?;
        let found = tx
            .fetch_all(
                sql!("deliveries/list"),
                params![scope.tenant(), endpoint, before, limit],
            )
            .await?;
        found.iter().map(delivery).collect()
    }

    /// Reads a delivery and what became of its attempts.
    pub async fn delivery(
        &self,
        scope: Scope,
        id: DeliveryId,
    ) -> Result<(Delivery, Vec<DeliveryAttempt>), Error> {
        let mut tx = self.db.read(scope).await?;
        let params = || params![scope.tenant(), id];
        let row = tx
            .fetch_optional(sql!("deliveries/by_id"), params())
            .await?;
        let row = row.ok_or_else(|| Error::not_found("delivery", id))?;
        let attempts = tx.fetch_all(sql!("deliveries/attempts"), params()).await?;
        let attempts = attempts.iter().map(attempt).collect::<Result<_, _>>()?;
        Ok((delivery(&row)?, attempts))
    }

    /// Sends an endpoint a test, whatever kinds of notifications it chose. The delivery gets the ID `delivery`.
    /// Refused with [`Error::Made`] if that ID already exists.
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
                // Of two requests with one ID, the second one waits here and then finds the delivery of the first.
                lock(tx, id).await?;
                let used = tx
                    .fetch_optional(sql!("deliveries/by_id"), params![tenant, delivery])
                    .await?;
                if used.is_some() {
                    return Err(Error::made("the delivery", delivery));
                }
                enabled(tx, scope, id, "be tried").await?;
                let row = new.row(delivery, tenant, id, now);
                tx.execute_rows(sql!("deliveries/insert"), vec![row], params![])
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Sends a delivery that is over once more, under the same id. One that had used up its attempts has
    /// one more.
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
                enabled(tx, scope, found.endpoint_id, "be sent anything").await?;
                let params = params![scope.tenant(), id, now];
                match tx.execute(sql!("deliveries/redeliver"), params).await? {
                    0 => Err(refused(
                        "delivery",
                        found.state.status().as_str(),
                        "be sent again",
                    )),
                    _ => Ok(()),
                }
            })
        })
        .await
    }

    /// Removes deliveries that are over and were made before an instant, some of them. Gives how many
    /// went.
    pub async fn trim_deliveries(&self, before: Timestamp) -> Result<u64, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                if !retention::alone(tx).await? {
                    return Ok(0);
                }
                let first = DeliveryId::first_at(before);
                Ok(tx
                    .execute(sql!("deliveries/trim"), params![first, DELIVERIES_AT_ONCE])
                    .await?)
            })
        })
        .await
    }
}

/// What an attempt means for its endpoint.
async fn follow(
    tx: &mut Tx,
    scope: Scope,
    id: EndpointId,
    verdict: Verdict,
    now: Timestamp,
) -> Result<(), Error> {
    let since = (verdict != Verdict::Delivered).then_some(now);
    tx.execute(sql!("endpoints/set_failing"), params![id, since])
        .await?;
    match verdict {
        Verdict::Gone => {
            let reason = "it answered that it is gone (410)";
            disable(tx, scope, id, reason, now).await
        }
        Verdict::GivenUp => {
            let found = endpoint(&by_id(tx, scope, id).await?)?;
            match found.failing_since {
                Some(since) if now.since(since) >= limits::ENDPOINT_FAILING => {
                    let reason = format!("nothing has arrived since {since}");
                    disable(tx, scope, id, &reason, now).await
                }
                _ => Ok(()),
            }
        }
        Verdict::Delivered | Verdict::Again(_) => Ok(()),
    }
}

/// Reads an endpoint that must not be disabled.
async fn enabled(
    tx: &mut Tx,
    scope: Scope,
    id: EndpointId,
    event: &str,
) -> Result<model::notification::Endpoint, Error> {
    let found = endpoint(&by_id(tx, scope, id).await?)?;
    if found.disabled_at.is_some() {
        return Err(refused("endpoint", "disabled", event));
    }
    Ok(found)
}

fn refused(what: &'static str, state: &str, event: &str) -> Error {
    Error::Refused(Refused {
        what,
        state: state.into(),
        event: event.into(),
    })
}

fn claimed(row: &Row) -> Result<Claimed, Error> {
    Ok(Claimed {
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
