//! From a tenant's feed to deliveries.

use model::{
    AutomationId, DeliveryId, EndpointId, TenantId, Timestamp, feed::FeedCursor,
    notification::NotificationKind,
};

use super::{NewDelivery, Notice};
use crate::{
    Error, Scope,
    database::Row,
    store::Store,
    stored::{self, StoredEvents},
};

/// What an endpoint wants to be told, and how far it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Whose it is.
    pub tenant: TenantId,
    /// What it wants to be told of.
    pub events: Vec<NotificationKind>,
    /// The only automation of which it is told.
    pub automation: Option<AutomationId>,
    /// The only channel of whose sessions it is told.
    pub channel: Option<String>,
    /// The place in the feed up to which it was told.
    pub cursor: FeedCursor,
}

impl Subscription {
    /// Whether it wants to be told this.
    pub fn wants(&self, notice: &Notice) -> bool {
        self.events.contains(&notice.kind)
            && (self.automation.is_none() || self.automation == notice.event.automation_id)
            && (self.channel.is_none() || self.channel.as_deref() == notice.channel())
    }
}

impl Store {
    /// Lists what endpoints want to be told, those that are disabled left out.
    pub async fn subscriptions(&self) -> Result<Vec<Subscription>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("endpoints/subscriptions"), params![])
            .await?;
        let read = |row: &Row| {
            Ok(Subscription {
                endpoint: row.get("id")?,
                tenant: row.get("tenant_id")?,
                events: stored::read::<StoredEvents>(row, "events")?,
                automation: row.optional("automation_id")?,
                channel: row.optional("channel")?,
                cursor: row.parse("cursor")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// Makes the deliveries of what an endpoint is to be told, and moves it on in the feed to `to`: one
    /// transaction. Gives whether it did; where somebody else was first, or the endpoint was disabled
    /// meanwhile, nothing is done.
    pub async fn tell(
        &self,
        subscription: &Subscription,
        to: FeedCursor,
        deliveries: &[&NewDelivery],
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::Tenant(subscription.tenant), |tx, _| {
            Box::pin(async move {
                let (before, after) = (subscription.cursor.to_string(), to.to_string());
                let id = subscription.endpoint;
                let moved = tx
                    .execute(sql!("endpoints/advance"), params![id, before, after])
                    .await?;
                if moved == 0 {
                    return Ok(false);
                }
                let rows = deliveries.iter().map(|new| {
                    new.row(
                        DeliveryId::generate(now, self.ids()),
                        subscription.tenant,
                        id,
                        now,
                    )
                });
                tx.execute_rows(sql!("deliveries/insert"), rows.collect(), params![])
                    .await?;
                Ok(true)
            })
        })
        .await
    }
}
