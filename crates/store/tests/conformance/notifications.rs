//! Notifications: created once for each subscribed endpoint, and retried until they arrive.

use std::time::Duration;

use futures::future::join_all;
use model::{
    DeliveryId, EndpointId, TenantId, Timestamp,
    entity::Channel,
    feed::FeedCursor,
    limits,
    notification::{Delivery, DeliveryStatus, NotificationKind as Kind},
    policy::SessionMode,
    schedule::Spec,
};
use store::{
    AttemptResult, ClaimedDelivery, Error, NewDelivery, NewEndpoint, Notice, Scope, Subscription,
    params,
};
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::TestStore,
    stage::{Stage, unique},
};

impl Stage {
    pub(crate) async fn endpoint(&self, name: &str, events: &[Kind]) -> EndpointId {
        self.endpoint_with(new_endpoint(name, events)).await
    }

    pub(crate) fn endpoint_id(&self) -> EndpointId {
        EndpointId::generate(self.now(), &SeededEntropy::new(unique()))
    }

    pub(crate) async fn endpoint_with(&self, new: NewEndpoint) -> EndpointId {
        let id = self.endpoint_id();
        let created = self
            .store
            .create_endpoint(self.tenant, id, &new, self.now());
        created.await.unwrap();
        id
    }

    pub(crate) async fn subscription(&self, id: EndpointId) -> Subscription {
        let all = self.store.subscriptions().await.unwrap();
        all.into_iter().find(|found| found.endpoint == id).unwrap()
    }

    /// Creates deliveries for all endpoints until each has the expected number. The feed shows an event only once all
    /// transactions that began earlier have ended, in all tests.
    pub(crate) async fn create_deliveries(&self, expected: &[(EndpointId, usize)]) {
        for (id, count) in expected {
            while self.deliveries(*id).await.len() < *count {
                let subscription = self.subscription(*id).await;
                let (page, notices) = self.read_notices(&subscription).await;
                let wanted = matching_deliveries(&subscription, &notices);
                let wanted: Vec<_> = wanted.iter().collect();
                let created =
                    self.store
                        .create_deliveries(&subscription, page, &wanted, self.now());
                created.await.unwrap();
            }
        }
    }

    async fn read_notices(&self, from: &Subscription) -> (FeedCursor, Vec<Notice>) {
        let page = self
            .store
            .feed(from.tenant, from.cursor, 1000)
            .await
            .unwrap();
        let notices = self.store.notices(from.tenant, page.events).await.unwrap();
        (page.next_cursor, notices)
    }

    /// Returns all notices of the tenant.
    pub(crate) async fn notices(&self) -> Vec<Notice> {
        let page = self.store.feed(self.tenant, FeedCursor::START, 1000);
        let events = page.await.unwrap().events;
        self.store.notices(self.tenant, events).await.unwrap()
    }

    /// Lists the deliveries of an endpoint, the oldest first.
    pub(crate) async fn deliveries(&self, id: EndpointId) -> Vec<Delivery> {
        let found = self.store.deliveries(self.scope(), id, None, 1000).await;
        let mut found = found.unwrap();
        found.reverse();
        found
    }

    /// Creates an endpoint with a pending delivery.
    async fn endpoint_with_pending_delivery(&self) -> EndpointId {
        let id = self.endpoint("hook", &[Kind::MessagePublished]).await;
        self.test_endpoint(self.tenant, id).await.unwrap();
        id
    }

    pub(crate) async fn test_endpoint(
        &self,
        tenant: TenantId,
        id: EndpointId,
    ) -> Result<DeliveryId, Error> {
        let delivery = DeliveryId::generate(self.now(), &SeededEntropy::new(unique()));
        let new = test_delivery(&delivery.to_string());
        self.store
            .test_endpoint(tenant, id, delivery, &new, self.now())
            .await?;
        Ok(delivery)
    }

    async fn claim_deliveries(&self, id: EndpointId) -> Vec<ClaimedDelivery> {
        let until = self.now() + limits::DELIVERY_LEASE;
        let claimed = self.store.claim_deliveries(id, 8, until, self.now());
        claimed.await.unwrap()
    }

    async fn record_response(
        &self,
        claimed: &ClaimedDelivery,
        status: Option<u16>,
    ) -> DeliveryStatus {
        let attempted = AttemptResult {
            response: match status {
                Some(status) => Ok((status, "text".into())),
                None => Err("no answer came in time".into()),
            },
            started_at: self.now(),
            ended_at: self.now(),
        };
        self.store
            .record_attempt(claimed, &attempted)
            .await
            .unwrap()
    }

    async fn delivery(&self, id: EndpointId) -> Delivery {
        self.deliveries(id).await.remove(0)
    }
}

pub(crate) fn new_endpoint(name: &str, events: &[Kind]) -> NewEndpoint {
    NewEndpoint {
        name: name.into(),
        url: "https://example.org/hook".into(),
        events: events.to_vec(),
        automation: None,
        channel: None,
    }
}

pub(crate) fn test_delivery(event_id: &str) -> NewDelivery {
    NewDelivery {
        kind: Kind::EndpointTest,
        event_id: event_id.to_owned(),
        session: None,
        body: "a test".to_owned(),
    }
}

/// Returns the deliveries of the notices that match a subscription. `service` renders their texts; here each text names
/// its event.
fn matching_deliveries(subscription: &Subscription, notices: &[Notice]) -> Vec<NewDelivery> {
    let chosen = notices.iter().filter(|it| subscription.wants(it));
    chosen
        .map(|notice| NewDelivery {
            kind: notice.kind,
            event_id: notice.event_id(),
            session: notice.event.session_id,
            body: notice.event_id(),
        })
        .collect()
}

pub(crate) async fn answer_notification_has_channel_of_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let everything = stage.endpoint("all", &[Kind::MessagePublished]).await;
    let slack = NewEndpoint {
        channel: Some("slack".into()),
        ..new_endpoint("slack", &[Kind::MessagePublished])
    };
    let slack = stage.endpoint_with(slack).await;
    let plain = stage.session().await;
    let session = stage.keyed_session(Some("slack:C1:7")).await;
    let sql =
        "update agent_sessions set channel = 'slack', chat_id = 'C1', thread = '7' where id = $1";
    db.run(Scope::System, sql, params![session]).await.unwrap();
    for session in [plain, session] {
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        stage.succeed(run).await;
    }
    stage
        .create_deliveries(&[(everything, 2), (slack, 1)])
        .await;
    let delivery = stage.delivery(slack).await;
    assert_eq!(delivery.session_id, Some(session));
    let notices = stage.notices().await;
    let notice = notices
        .iter()
        .find(|it| it.event_id() == delivery.event_id)
        .unwrap();
    assert_eq!(notice.kind, Kind::MessagePublished);
    let answer = notice.event.message.as_ref().unwrap();
    assert_eq!(answer.content, "Done.");
    let found = notice.session.as_ref().unwrap();
    assert_eq!(found.key.as_deref(), Some("slack:C1:7"));
    let channel = Channel {
        channel: "slack".into(),
        chat_id: "C1".into(),
        thread: Some("7".into()),
    };
    assert_eq!(found.channel, Some(channel));
    assert_eq!(notice.automation, None);
    assert_eq!(stage.deliveries(everything).await.len(), 2);
    assert_eq!(stage.deliveries(slack).await.len(), 1);
}

pub(crate) async fn endpoint_gets_only_subscribed_notification_kinds(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("deploy", SessionMode::Fresh);
    new.triggers = vec![Spec::Webhook {}];
    new.policies.pause_after_failures = 1;
    let automation = stage.create(&new).await;
    let other = stage.automation("other", SessionMode::Fresh).await;
    let chosen: Vec<Kind> = Kind::ALL
        .iter()
        .copied()
        .filter(|kind| kind.is_subscribable())
        .collect();
    let of_one = NewEndpoint {
        automation: Some(automation),
        ..new_endpoint("deploys", &chosen)
    };
    let endpoint = stage.endpoint_with(of_one).await;
    let nothing = stage.endpoint("missed", &[Kind::RunMissed]).await;
    let unwanted = stage.fire(other).await.run_id;
    stage.start(unwanted).await;
    stage.succeed(unwanted).await;

    let good = stage.fire(automation).await.run_id;
    stage.start(good).await;
    stage.succeed(good).await;
    let bad = stage.fire(automation).await.run_id;
    stage.start(bad).await;
    stage.fail(bad, model::outcome::FailureKind::SignIn).await;
    let hook = stage
        .store
        .triggers(stage.scope(), automation)
        .await
        .unwrap()[1]
        .id;
    let skipped = stage
        .store
        .fire_webhook(stage.tenant, hook, "msg_1", "{}", stage.now());
    skipped.await.unwrap();
    stage.create_deliveries(&[(endpoint, 8)]).await;
    let mut kinds: Vec<_> = stage.deliveries(endpoint).await;
    kinds.sort_by_key(|sent| sent.kind);
    let named: Vec<&str> = kinds.iter().map(|sent| sent.kind.as_str()).collect();
    assert_eq!(
        named,
        [
            "message.published",
            "run.succeeded",
            "run.failed",
            "run.skipped",
            "automation.paused",
            "automation.attention",
            "session.state",
            "session.state",
        ]
    );
    let notices = stage.notices().await;
    for delivery in &kinds {
        let notice = notices
            .iter()
            .find(|it| it.event_id() == delivery.event_id)
            .unwrap();
        assert_eq!(notice.automation.as_ref().unwrap().name, "deploy");
        if delivery.kind == Kind::RunSkipped {
            let run = notice.run.as_ref().unwrap();
            assert_eq!(run.state.reason(), Some("paused"));
        }
    }
    assert!(stage.deliveries(nothing).await.is_empty());
}

pub(crate) async fn concurrent_notifiers_create_one_delivery_per_event(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint("hook", &[Kind::MessagePublished]).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let from = stage.subscription(endpoint).await;
    let (to, notices) = loop {
        let (to, notices) = stage.read_notices(&from).await;
        if notices.iter().any(|it| from.wants(it)) {
            break (to, notices);
        }
    };
    let wanted = matching_deliveries(&from, &notices);
    let wanted: Vec<_> = wanted.iter().collect();
    let tellers = (0..6).map(|_| {
        stage
            .store
            .create_deliveries(&from, to, &wanted, stage.now())
    });
    let created = join_all(tellers).await.into_iter().map(Result::unwrap);
    assert_eq!(created.filter(|created| *created).count(), 1);
    assert_eq!(stage.deliveries(endpoint).await.len(), 1);
    assert_eq!(stage.subscription(endpoint).await.cursor, to);
    // If the cursor is lost, the unique index refuses a second delivery.
    let sql = "update notification_endpoints set cursor = $1";
    let before = from.cursor.to_string();
    db.run(Scope::System, sql, params![before]).await.unwrap();
    let again = stage
        .store
        .create_deliveries(&from, to, &wanted, stage.now())
        .await;
    assert!(matches!(again, Err(Error::Database(_))), "{again:?}");
    assert_eq!(stage.subscription(endpoint).await.cursor, from.cursor);
}

pub(crate) async fn delivery_is_claimed_by_one_sender_until_lease_expires(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint_with_pending_delivery().await;
    let claims = (0..6).map(|_| stage.claim_deliveries(endpoint));
    let claimed: Vec<_> = join_all(claims).await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].delivery.attempts, 1);
    let due = async |now: Timestamp| stage.store.endpoints_due(9, now).await.unwrap();
    assert!(due(stage.now()).await.is_empty());
    stage.clock.advance(limits::DELIVERY_LEASE);
    assert_eq!(due(stage.now()).await, [endpoint]);
    // The sender is lost. Another sender sends the same text again.
    let again = stage.claim_deliveries(endpoint).await.remove(0);
    assert_eq!(again.delivery.id, claimed[0].delivery.id);
    assert_eq!(again.delivery.body, claimed[0].delivery.body);
    assert_eq!(again.delivery.attempts, 2);
    // The first sender's result arrives late and is outdated.
    stage.record_response(&claimed[0], Some(500)).await;
    let delivery = stage.delivery(endpoint).await;
    assert_eq!(
        (delivery.state.status(), delivery.last_status),
        (DeliveryStatus::Pending, None)
    );
    assert_eq!(
        stage.record_response(&again, Some(204)).await,
        DeliveryStatus::Delivered
    );
    let (delivery, log) = stage
        .store
        .delivery(stage.scope(), delivery.id)
        .await
        .unwrap();
    assert_eq!(delivery.state.status(), DeliveryStatus::Delivered);
    assert_eq!(delivery.state.ended_at(), Some(stage.now()));
    let log: Vec<_> = log.iter().map(|row| (row.number, row.status)).collect();
    assert_eq!(log, [(1, Some(500)), (2, Some(204))]);
}

pub(crate) async fn failing_delivery_backs_off_and_is_given_up(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint_with_pending_delivery().await;
    let began = stage.now();
    for attempt in 1..=limits::DELIVERY_ATTEMPTS {
        let claimed = stage.claim_deliveries(endpoint).await.remove(0);
        assert_eq!(claimed.delivery.attempts, attempt);
        let status = (attempt % 2 == 0).then_some(503);
        let state = stage.record_response(&claimed, status).await;
        let delivery = stage.delivery(endpoint).await;
        assert_eq!(delivery.state.status(), state);
        assert_eq!(delivery.last_error.is_some(), status.is_none());
        if let Some(next) = delivery.state.next_attempt_at() {
            assert!(stage.claim_deliveries(endpoint).await.is_empty());
            stage.clock.advance(next.since(stage.now()));
        }
    }
    let delivery = stage.delivery(endpoint).await;
    assert_eq!(
        (delivery.state.status(), delivery.state.next_attempt_at()),
        (DeliveryStatus::Failed, None)
    );
    let found = stage.store.endpoint(stage.scope(), endpoint).await.unwrap();
    assert_eq!(found.failing_since, Some(began));
    assert_eq!(
        found.disabled_at, None,
        "a short outage does not disable the endpoint"
    );
    // A person sends the delivery again, and it arrives under the same ID.
    let redelivered = stage
        .store
        .redeliver(stage.scope(), delivery.id, stage.now());
    redelivered.await.unwrap();
    let claimed = stage.claim_deliveries(endpoint).await.remove(0);
    assert_eq!(claimed.delivery.id, delivery.id);
    let waiting = stage
        .store
        .redeliver(stage.scope(), delivery.id, stage.now());
    assert!(matches!(waiting.await, Err(Error::Refused(_))));
    assert_eq!(
        stage.record_response(&claimed, Some(200)).await,
        DeliveryStatus::Delivered
    );
    let found = stage.store.endpoint(stage.scope(), endpoint).await.unwrap();
    assert_eq!(found.failing_since, None);
}

pub(crate) async fn endpoint_with_status_410_or_day_of_failures_is_disabled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint_with_pending_delivery().await;
    let found = async |id| stage.store.endpoint(stage.scope(), id).await.unwrap();
    let test = async |id| stage.test_endpoint(stage.tenant, id).await;
    test(endpoint).await.unwrap();
    let claimed = stage.claim_deliveries(endpoint).await;
    assert_eq!(
        stage.record_response(&claimed[0], Some(410)).await,
        DeliveryStatus::Failed
    );
    let reason = found(endpoint).await.disabled_reason.unwrap();
    assert!(reason.contains("410"), "{reason}");
    let states = stage.deliveries(endpoint).await;
    assert!(
        states
            .iter()
            .all(|delivery| delivery.state.status() == DeliveryStatus::Failed)
    );
    assert!(stage.store.subscriptions().await.unwrap().is_empty());
    assert!(matches!(test(endpoint).await, Err(Error::Refused(_))));
    let again = stage
        .store
        .redeliver(stage.scope(), states[0].id, stage.now());
    assert!(matches!(again.await, Err(Error::Refused(_))));

    let enabled = stage
        .store
        .enable_endpoint(stage.tenant, endpoint, stage.now());
    enabled.await.unwrap();
    assert_eq!(found(endpoint).await.disabled_at, None);
    test(endpoint).await.unwrap();
    let mut claimed = stage.claim_deliveries(endpoint).await.remove(0);
    stage.record_response(&claimed, None).await;
    stage.clock.advance(limits::DISABLE_ENDPOINT_AFTER);
    claimed = stage.claim_deliveries(endpoint).await.remove(0);
    claimed.delivery.attempts = limits::DELIVERY_ATTEMPTS;
    let sql = "update webhook_deliveries set attempts = $1 where state = 'pending'";
    let last = limits::DELIVERY_ATTEMPTS;
    db.run(Scope::System, sql, params![last]).await.unwrap();
    stage.record_response(&claimed, Some(500)).await;
    let reason = found(endpoint).await.disabled_reason.unwrap();
    assert!(
        reason.contains("no delivery has succeeded since"),
        "{reason}"
    );
    let disabled = stage
        .store
        .disable_endpoint(stage.scope(), endpoint, "again", stage.now());
    disabled.await.unwrap();
    assert_eq!(found(endpoint).await.disabled_reason, Some(reason));
}

pub(crate) async fn old_finished_deliveries_are_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint_with_pending_delivery().await;
    let claimed = stage.claim_deliveries(endpoint).await.remove(0);
    stage.record_response(&claimed, Some(200)).await;
    stage.test_endpoint(stage.tenant, endpoint).await.unwrap();
    let trim = async || {
        let before = stage.now().saturating_sub(limits::RETAIN_DELIVERIES);
        stage.store.trim_deliveries(before).await.unwrap()
    };
    assert_eq!(trim().await, 0);
    stage
        .clock
        .advance(limits::RETAIN_DELIVERIES + Duration::from_secs(1));
    assert_eq!(trim().await, 1);
    let left = stage.delivery(endpoint).await;
    assert_eq!(
        left.state.status(),
        DeliveryStatus::Pending,
        "pending deliveries stay"
    );
    assert_eq!(db.count(Scope::System, "webhook_attempts").await, 0);
}

pub(crate) async fn delivery_of_earlier_version_is_sent_byte_for_byte(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let endpoint = stage.endpoint_with_pending_delivery().await;
    // The text of a notification in the form before the typed events, with keys that no longer exist.
    let text = r#"{"data":{"automation":null,"change":{"reason":null,"state":"paused"},"session":{"channel":null,"id":"ses_0197f3c2a9d07cc1a1b2c3d4e5f60001"}},"id":"evt_0197f3c2a9d07cc1a1b2c3d4e5f60001_4","timestamp":"2026-05-04T09:00:00Z","type":"session.state"}"#;
    let sql = "update webhook_deliveries set body = $1";
    db.run(Scope::System, sql, params![text]).await.unwrap();
    let claimed = stage.claim_deliveries(endpoint).await.remove(0);
    assert_eq!(claimed.delivery.body, text);
    stage.record_response(&claimed, Some(500)).await;
    assert_eq!(stage.delivery(endpoint).await.body, text);
}
