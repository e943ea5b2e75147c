//! The notifier: creates deliveries from the feeds of tenants, and sends due deliveries to endpoints.
//!
//! **Invariants:** no turn waits for the notifier, which reads the feed after the turn's transactions. Each event has
//! one delivery per endpoint. A delivery is sent at least once, always with the same ID, so that receivers can drop
//! duplicates. Each endpoint has a task of its own, so that a slow one does not delay the others.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::join_all;
use model::{EndpointId, SessionId, TenantId, Timestamp, feed::FeedCursor, limits};
use service::notification_text;
use store::{
    AttemptResult, ClaimedDelivery, NewDelivery, Notice, Scope, Subscription, UnusableCursor,
};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use webhook::Sender;

use crate::{Error, Host, boxed, loop_runner::LoopBody};

/// The number of events that are read from a feed at once.
const FEED_PAGE_EVENTS: u32 = 500;

/// Creates the deliveries of the events that endpoints have not received yet. Returns `true` if any endpoint is
/// enabled.
#[boxed]
pub async fn create_deliveries(host: &Host, now: Timestamp) -> Result<bool, Error> {
    // 1. Find the enabled endpoints, with their cursors in the feeds.
    let subscriptions = host.store.subscriptions().await?;
    let any_enabled = !subscriptions.is_empty();
    // Group the endpoints by tenant and cursor, so that each feed page is read once per group.
    let mut groups: BTreeMap<(TenantId, FeedCursor), Vec<Subscription>> = BTreeMap::new();
    for subscription in subscriptions {
        let key = (subscription.tenant, subscription.cursor);
        groups.entry(key).or_default().push(subscription);
    }
    // 2. For each group, read its feed page by page.
    for ((tenant, cursor), mut subscriptions) in groups {
        let mut after = cursor;
        loop {
            let page = host.store.feed(tenant, after, FEED_PAGE_EVENTS).await?;
            if let Some(lost) = page.unusable_cursor {
                tracing::warn!(%tenant, "notifications of {tenant} are missing: {}", format_lost(lost));
            }
            // An idle feed must cost no write, because this runs every second.
            if page.events.is_empty() && page.unusable_cursor.is_none() {
                break;
            }
            let mut notices = host.store.notices(tenant, page.events).await?;
            notices.retain(|notice| {
                subscriptions
                    .iter()
                    .any(|subscription| subscription.wants(notice))
            });
            // The body is the same for every endpoint, so it is built once.
            let notices: Vec<(Notice, NewDelivery)> = notices
                .into_iter()
                .map(|notice| (notice.clone(), notification_text::delivery(notice)))
                .collect();
            // 3. For each endpoint, insert its deliveries and move its cursor in one transaction, so that a crash
            // neither skips nor repeats an event.
            let mut advanced = Vec::with_capacity(subscriptions.len());
            for mut subscription in subscriptions {
                let wanted = notices
                    .iter()
                    .filter(|(notice, _)| subscription.wants(notice));
                let wanted: Vec<_> = wanted.map(|(_, delivery)| delivery).collect();
                // `false` if another server has moved this endpoint's cursor, or the endpoint was disabled. Go on
                // without it: the next tick reads its cursor again.
                if host
                    .store
                    .create_deliveries(&subscription, page.next_cursor, &wanted, now)
                    .await?
                {
                    subscription.cursor = page.next_cursor;
                    advanced.push(subscription);
                }
            }
            subscriptions = advanced;
            after = page.next_cursor;
            if !page.has_more || subscriptions.is_empty() {
                break;
            }
        }
    }
    Ok(any_enabled)
}

fn format_lost(lost: UnusableCursor) -> &'static str {
    match lost {
        UnusableCursor::Trimmed(_) => {
            "retention removed events before their deliveries were created"
        }
        UnusableCursor::Ahead => "the database is older than the endpoint's cursor",
    }
}

/// Sends one batch of due deliveries to an endpoint. Returns how many were sent.
///
/// Deliveries about one session are sent one after the other, in order; different sessions are sent concurrently. The
/// order holds only while every attempt succeeds: a failed delivery is retried later, and its successors do not wait.
#[boxed]
pub async fn send_batch(
    host: &Host,
    sender: &Sender,
    endpoint: EndpointId,
) -> Result<usize, Error> {
    let now = host.now();
    let until = now + limits::DELIVERY_LEASE;
    let claimed = host
        .store
        .claim_deliveries(endpoint, limits::DELIVERIES_PER_CLAIM, until, now)
        .await?;
    // A lane holds the deliveries of one session. A delivery without a session gets a lane of its own by its index.
    let mut lanes: BTreeMap<(Option<SessionId>, usize), Vec<ClaimedDelivery>> = BTreeMap::new();
    for (index, delivery) in claimed.into_iter().enumerate() {
        let session = delivery.delivery.session_id;
        let lane = (session, if session.is_some() { 0 } else { index });
        lanes.entry(lane).or_default().push(delivery);
    }
    let sent = lanes.into_values().map(|lane| async {
        let mut sent = 0;
        for delivery in lane {
            // Stop if the request could outlast the lease, because another server may send this delivery afterwards.
            // The delivery is claimed again once the lease is over.
            if host.now() + limits::DELIVERY_TIMEOUT > until {
                break;
            }
            attempt_delivery(host, sender, &delivery).await?;
            sent += 1;
        }
        Ok::<_, Error>(sent)
    });
    join_all(sent).await.into_iter().sum()
}

/// Makes one attempt at a delivery and records its result.
async fn attempt_delivery(
    host: &Host,
    sender: &Sender,
    claimed: &ClaimedDelivery,
) -> Result<(), Error> {
    let delivery = &claimed.delivery;
    let scope = Scope::Tenant(claimed.tenant);
    let found = host
        .store
        .endpoint_secrets(scope, delivery.endpoint_id)
        .await;
    let (endpoint, secrets) = match found {
        Ok(found) => found,
        // The endpoint was deleted after the claim, together with its deliveries.
        Err(store::Error::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // The secrets are chosen now and not at the claim, so that a rotated secret takes effect at once.
    let started_at = host.now();
    let id = delivery.id.to_string();
    let valid = secrets.valid_at(started_at);
    let answer = sender
        .send(&endpoint.url, &valid, &id, &delivery.body, started_at)
        .await;
    let attempted = AttemptResult {
        response: answer
            .map(|answer| (answer.status, answer.text))
            .map_err(|error| error.to_string()),
        started_at,
        ended_at: host.now(),
    };
    // The attempt's number is its fence. If the lease is over and another attempt has begun, the store only logs this
    // one.
    host.store.record_attempt(claimed, &attempted).await?;
    Ok(())
}

/// The notifier loop of one server.
pub(crate) struct Notifier {
    host: Host,
    /// The HTTP client, built when the first delivery is due.
    sender: Option<Sender>,
    /// The endpoints with a sending task under way.
    busy_endpoints: Arc<Mutex<HashSet<EndpointId>>>,
    /// The sending tasks, which a stop waits for.
    tasks: TaskTracker,
    /// Aborts the sending tasks.
    give_up: CancellationToken,
    /// Wakes this loop after a task has sent its batch.
    wake: Arc<Notify>,
}

impl Notifier {
    /// Returns a notifier that `wake` wakes. It spawns its sending tasks into `tasks` and aborts them once `give_up`
    /// is cancelled; the deliveries of an aborted task are sent again after their lease.
    pub(crate) fn new(
        host: Host,
        tasks: TaskTracker,
        give_up: CancellationToken,
        wake: Arc<Notify>,
    ) -> Self {
        Self {
            host,
            sender: None,
            busy_endpoints: Arc::default(),
            tasks,
            give_up,
            wake,
        }
    }

    fn sender(&mut self) -> Result<Sender, Error> {
        if let Some(sender) = &self.sender {
            return Ok(sender.clone());
        }
        let allowance = self.host.settings.webhook_allow.clone();
        let sender = Sender::new(allowance, limits::DELIVERY_TIMEOUT)?;
        Ok(self.sender.insert(sender).clone())
    }

    /// Starts a sending task for each endpoint with due deliveries, unless it has one already.
    async fn send_due(&mut self, now: Timestamp) -> Result<(), Error> {
        let max_endpoints = u32::try_from(limits::CONCURRENT_ENDPOINTS).unwrap_or(u32::MAX);
        // Ask for twice the limit, because the list may begin with endpoints that have a task already.
        let due = self
            .host
            .store
            .endpoints_due(max_endpoints * 2, now)
            .await?;
        if due.is_empty() {
            return Ok(());
        }
        let sender = self.sender()?;
        for endpoint in due {
            {
                let mut busy = lock(&self.busy_endpoints);
                if busy.len() >= limits::CONCURRENT_ENDPOINTS || !busy.insert(endpoint) {
                    continue;
                }
            }
            let (host, sender) = (self.host.clone(), sender.clone());
            let (busy, wake) = (Arc::clone(&self.busy_endpoints), Arc::clone(&self.wake));
            let give_up = self.give_up.clone();
            self.tasks.spawn(async move {
                let sent = tokio::select! {
                    sent = send_batch(&host, &sender, endpoint) => sent,
                    () = give_up.cancelled() => Ok(0),
                };
                // Remove before the wake-up, so that the woken loop can start the next batch of this endpoint.
                lock(&busy).remove(&endpoint);
                match sent {
                    // Nothing was sent, so a wake-up would only spin.
                    Ok(0) => {}
                    Ok(_) => wake.notify_one(),
                    Err(error) => {
                        host.metrics.record_loop_error(Self::NAME);
                        let error = &error as &(dyn std::error::Error + 'static);
                        tracing::error!(error, %endpoint, "cannot send to {endpoint}");
                    }
                }
            });
        }
        Ok(())
    }
}

fn lock(busy: &Mutex<HashSet<EndpointId>>) -> std::sync::MutexGuard<'_, HashSet<EndpointId>> {
    busy.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoopBody for Notifier {
    const NAME: &'static str = "notifier";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let any_enabled = create_deliveries(&self.host, now).await?;
        // The leases of deliveries are judged by the clock alone. With an unknown time, this server could take over a
        // delivery that another server is still sending.
        if self.host.time_is_known() {
            self.send_due(now).await?;
        }
        if !any_enabled {
            return Ok(None);
        }
        // Due deliveries need no earlier tick: a task that has sent its batch wakes this loop.
        Ok(Some(now + limits::NOTIFIER_POLL_INTERVAL))
    }
}
