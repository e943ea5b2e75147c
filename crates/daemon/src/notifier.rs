//! Tells endpoints of what happens: makes deliveries of what the feed has, and sends what is due.
//!
//! **Invariants:** nothing here is done for a turn, and no turn waits for it: the feed is read after it was
//! written. A delivery is made once for each event and endpoint, and sent at least once, always under
//! the same id. Each endpoint is sent to by itself, so that a slow one holds up no other.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::join_all;
use model::{EndpointId, SessionId, TenantId, Timestamp, feed::FeedCursor, limits};
use service::notification_text;
use store::{Attempted, Claimed, Lost, NewDelivery, Notice, Scope, Subscription};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use webhook::Sender;

use crate::{Error, Host, runner::Look};

/// How many events are read of a feed at once.
const PAGE: u32 = 500;

/// Makes deliveries of what endpoints have not been told yet. Gives whether there are endpoints at all.
pub async fn tell(host: &Host, now: Timestamp) -> Result<bool, Error> {
    let subscriptions = host.store.subscriptions().await?;
    let any = !subscriptions.is_empty();
    // Those that were told as far are told together: the feed is read once for all of them.
    let mut alike: BTreeMap<(TenantId, FeedCursor), Vec<Subscription>> = BTreeMap::new();
    for one in subscriptions {
        let key = (one.tenant, one.cursor);
        alike.entry(key).or_default().push(one);
    }
    for ((tenant, cursor), mut subscriptions) in alike {
        let mut after = cursor;
        loop {
            let page = host.store.feed(tenant, after, PAGE).await?;
            if let Some(lost) = page.lost {
                tracing::warn!(%tenant, "notifications of {tenant} are missing: {}", missing(lost));
            }
            // Where nothing happened, nothing is written.
            if page.events.is_empty() && page.lost.is_none() {
                break;
            }
            let mut notices = host.store.notices(tenant, page.events).await?;
            notices.retain(|notice| subscriptions.iter().any(|one| one.wants(notice)));
            // The text is the same for every endpoint, so it is written once.
            let notices: Vec<(Notice, NewDelivery)> = notices
                .into_iter()
                .map(|notice| (notice.clone(), notification_text::delivery(notice)))
                .collect();
            let mut told = Vec::with_capacity(subscriptions.len());
            for mut one in subscriptions {
                let wanted = notices.iter().filter(|(notice, _)| one.wants(notice));
                let wanted: Vec<_> = wanted.map(|(_, delivery)| delivery).collect();
                if host.store.tell(&one, page.scanned, &wanted, now).await? {
                    one.cursor = page.scanned;
                    told.push(one);
                }
            }
            subscriptions = told;
            after = page.scanned;
            if !page.more || subscriptions.is_empty() {
                break;
            }
        }
    }
    Ok(any)
}

fn missing(lost: Lost) -> &'static str {
    match lost {
        Lost::Trimmed(_) => "retention removed events that nobody had told of",
        Lost::Ahead => "the database is older than what was told",
    }
}

/// Sends an endpoint what is due, one round of it. What is about one session goes in order, as long as
/// all goes well. Gives how much was sent.
pub async fn send(host: &Host, sender: &Sender, endpoint: EndpointId) -> Result<usize, Error> {
    let now = host.now();
    let until = now + limits::DELIVERY_LEASE;
    let claimed = host
        .store
        .claim_deliveries(endpoint, limits::DELIVERIES_AT_ONCE, until, now)
        .await?;
    let mut lanes: BTreeMap<(Option<SessionId>, usize), Vec<Claimed>> = BTreeMap::new();
    for (at, one) in claimed.into_iter().enumerate() {
        let session = one.delivery.session_id;
        let lane = (session, if session.is_some() { 0 } else { at });
        lanes.entry(lane).or_default().push(one);
    }
    let sent = lanes.into_values().map(|lane| async {
        let mut sent = 0;
        for one in lane {
            // What cannot be done within the lease is done by whoever takes it next.
            if host.now() + limits::DELIVERY_LIMIT > until {
                break;
            }
            attempt(host, sender, &one).await?;
            sent += 1;
        }
        Ok::<_, Error>(sent)
    });
    join_all(sent).await.into_iter().sum()
}

/// Makes one attempt at a delivery.
async fn attempt(host: &Host, sender: &Sender, claimed: &Claimed) -> Result<(), Error> {
    let delivery = &claimed.delivery;
    let scope = Scope::Tenant(claimed.tenant);
    let found = host
        .store
        .endpoint_secrets(scope, delivery.endpoint_id)
        .await;
    let (endpoint, secrets) = match found {
        Ok(found) => found,
        // It was removed, and all that was on its way with it.
        Err(store::Error::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let started_at = host.now();
    let id = delivery.id.to_string();
    let valid = secrets.valid(started_at);
    let answer = sender
        .send(&endpoint.url, &valid, &id, &delivery.body, started_at)
        .await;
    let attempted = Attempted {
        answer: answer
            .map(|answer| (answer.status, answer.text))
            .map_err(|error| error.to_string()),
        started_at,
        ended_at: host.now(),
    };
    host.store.record_delivery(claimed, &attempted).await?;
    Ok(())
}

/// The notifier of one server.
pub(crate) struct Notifier {
    host: Host,
    sender: Option<Sender>,
    sending: Arc<Mutex<HashSet<EndpointId>>>,
    tasks: TaskTracker,
    give_up: CancellationToken,
    wake: Arc<Notify>,
}

impl Notifier {
    /// Makes a notifier that is woken by `wake`. Whatever it sends is one of `tasks`, and breaks off at
    /// `give_up`: it is then sent again once its lease is over.
    pub(crate) fn new(
        host: Host,
        tasks: TaskTracker,
        give_up: CancellationToken,
        wake: Arc<Notify>,
    ) -> Self {
        Self {
            host,
            sender: None,
            sending: Arc::default(),
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
        let sender = Sender::new(allowance, limits::DELIVERY_LIMIT)?;
        Ok(self.sender.insert(sender).clone())
    }

    /// Begins to send to endpoints that have something due, unless they are being sent to.
    async fn send_due(&mut self, now: Timestamp) -> Result<(), Error> {
        let most = u32::try_from(limits::ENDPOINTS_AT_ONCE).unwrap_or(u32::MAX);
        let due = self.host.store.endpoints_due(most * 2, now).await?;
        if due.is_empty() {
            return Ok(());
        }
        let sender = self.sender()?;
        for endpoint in due {
            {
                let mut sending = lock(&self.sending);
                if sending.len() >= limits::ENDPOINTS_AT_ONCE || !sending.insert(endpoint) {
                    continue;
                }
            }
            let (host, sender) = (self.host.clone(), sender.clone());
            let (sending, wake) = (Arc::clone(&self.sending), Arc::clone(&self.wake));
            let give_up = self.give_up.clone();
            self.tasks.spawn(async move {
                let sent = tokio::select! {
                    sent = send(&host, &sender, endpoint) => sent,
                    () = give_up.cancelled() => Ok(0),
                };
                lock(&sending).remove(&endpoint);
                match sent {
                    Ok(0) => {}
                    Ok(_) => wake.notify_one(),
                    Err(error) => {
                        host.metrics.failed(Self::NAME);
                        let error = &error as &(dyn std::error::Error + 'static);
                        tracing::error!(error, %endpoint, "failed to send to {endpoint}");
                    }
                }
            });
        }
        Ok(())
    }
}

fn lock(sending: &Mutex<HashSet<EndpointId>>) -> std::sync::MutexGuard<'_, HashSet<EndpointId>> {
    sending.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Look for Notifier {
    const NAME: &'static str = "notifier";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let any = tell(&self.host, now).await?;
        // Who sends is known by the time alone: for as long as nobody is sure, nobody takes what another has.
        if self.host.knows_the_time() {
            self.send_due(now).await?;
        }
        if !any {
            return Ok(None);
        }
        // What is due is being sent, and wakes this when it is done.
        Ok(Some(now + limits::NOTIFY))
    }
}
