//! Creates deliveries from a tenant's feed.

use model::{
    AutomationId, DeliveryId, EndpointId, TenantId, Timestamp, feed::FeedCursor,
    notification::NotificationKind,
};

use super::{NewDelivery, Notice};
use crate::{
    Error, Scope, boxed,
    database::Row,
    store::Store,
    stored::{self, StoredNotificationKinds},
};

/// The notifications that an endpoint receives, and its cursor in the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The tenant of the endpoint.
    pub tenant: TenantId,
    /// The kinds of notifications that the endpoint receives.
    pub events: Vec<NotificationKind>,
    /// The only automation whose notifications the endpoint receives. `None`: all automations.
    pub automation: Option<AutomationId>,
    /// The only channel whose sessions' notifications the endpoint receives. `None`: all sessions.
    pub channel: Option<String>,
    /// The cursor up to which deliveries were created.
    pub cursor: FeedCursor,
}

impl Subscription {
    /// Returns `true` if the endpoint receives a notification.
    pub fn wants(&self, notice: &Notice) -> bool {
        self.events.contains(&notice.kind)
            && (self.automation.is_none() || self.automation == notice.event.automation_id)
            && (self.channel.is_none() || self.channel.as_deref() == notice.channel())
    }
}

impl Store {
    /// Lists the subscriptions of all enabled endpoints.
    #[boxed]
    pub async fn subscriptions(&self) -> Result<Vec<Subscription>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let found = tx
            .fetch_all(sql!("endpoints/subscriptions"), params![])
            .await?;
        let read = |row: &Row| {
            Ok(Subscription {
                endpoint: row.get("id")?,
                tenant: row.get("tenant_id")?,
                events: stored::read::<StoredNotificationKinds>(row, "events")?,
                automation: row.optional("automation_id")?,
                channel: row.optional("channel")?,
                cursor: row.parse("cursor")?,
            })
        };
        found.iter().map(read).collect()
    }

    /// Creates deliveries for an endpoint and advances its cursor to `to` in one transaction. Returns `false` and
    /// changes nothing if another process has advanced the cursor, or if the endpoint was disabled meanwhile.
    #[boxed]
    pub async fn create_deliveries(
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
                // The cursor is the fence: creating deliveries without it would send events twice.
                let advanced = tx
                    .execute(sql!("endpoints/advance"), params![id, before, after])
                    .await?;
                if advanced == 0 {
                    return Ok(false);
                }
                let rows = deliveries.iter().map(|new| {
                    new.insert_params(
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
