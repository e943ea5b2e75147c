//! Endpoints of notifications: accepted addresses, chosen events, and redelivery.

use std::time::Duration;

use api_types::{DeliveryStatus, DeliveryView, EndpointCreated, EndpointRequest, Notification};
use model::{EndpointId, limits, notification::NotificationKind};
use service::{Error, ErrorKind};
use store::AttemptResult;

use crate::world::{World, error_chain, request};

const URL: &str = "https://hooks.example.org/matins";

fn endpoint_request(name: &str, url: &str) -> EndpointRequest {
    EndpointRequest {
        name: name.into(),
        url: url.into(),
        events: vec![NotificationKind::RunFailed],
        automation: None,
        channel: None,
    }
}

impl World {
    async fn endpoint(&self, name: &str) -> EndpointCreated {
        let made = self
            .service
            .create_endpoint(&endpoint_request(name, URL), None)
            .await;
        made.unwrap()
    }

    /// Sends the due deliveries of an endpoint, as a server does, and records the responses.
    async fn deliver(&self, endpoint: EndpointId, status: u16) {
        let now = self.clock_now();
        let until = now + limits::DELIVERY_LEASE;
        let claimed = self.store.claim_deliveries(endpoint, 10, until, now).await;
        let claimed = claimed.unwrap();
        assert!(!claimed.is_empty(), "nothing is due");
        for one in &claimed {
            let attempted = AttemptResult {
                response: Ok((status, "noted".into())),
                started_at: now,
                ended_at: now,
            };
            self.store.record_attempt(one, &attempted).await.unwrap();
        }
    }
}

#[tokio::test]
async fn forbidden_endpoint_url_is_refused_and_not_repeated() {
    let world = World::new().await;
    for (url, says) in [
        ("https://127.0.0.1/s3cret", "this machine"),
        ("https://2130706433/s3cret", "this machine"),
        ("https://[::1]/s3cret", "not in the allowlist"),
        ("https://10.1.2.3/s3cret", "private"),
        ("https://169.254.169.254/s3cret", "link-local"),
        ("http://hooks.example.org/s3cret", "http:"),
        ("http://1.1.1.1/s3cret", "http:"),
        (
            "https://me:s3cret@example.org/",
            "a user name or a password",
        ),
        ("ftp://example.org/s3cret", "expected `https:`"),
        ("s3cret", "not a URL"),
        ("", "not a URL"),
    ] {
        let refused = world
            .service
            .create_endpoint(&endpoint_request("pager", url), None)
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.field()),
            (ErrorKind::Invalid, Some("url"))
        );
        let detail = error_chain(&refused);
        assert!(detail.contains(says), "{url}: {detail}");
        assert!(!detail.contains("s3cret"), "{detail}");
    }
    assert!(world.service.endpoints().await.unwrap().is_empty());
}

#[tokio::test]
async fn endpoint_edit_to_forbidden_url_is_refused() {
    let world = World::new().await;
    world.endpoint("pager").await;
    let made = world.service.endpoint("pager").await.unwrap();
    let to = endpoint_request("pager", "https://192.168.0.1/");
    let refused = world.service.edit_endpoint(&made, &to).await.unwrap_err();
    assert_eq!(refused.field(), Some("url"));
    assert_eq!(world.service.endpoint("pager").await.unwrap(), made);
}

#[tokio::test]
async fn allowance_permits_private_and_plain_http_urls() {
    let world = World::new().await;
    let service = world.service.clone();
    let service = service.with_allowance("10.1.0.0/16, hooks.internal".parse().unwrap());
    for (url, taken) in [
        ("http://10.1.2.3:8080/x", true),
        ("https://10.1.2.3/x", true),
        ("http://hooks.internal/x", true),
        ("https://10.2.0.1/x", false),
    ] {
        let made = service
            .create_endpoint(&endpoint_request(url, url), None)
            .await;
        assert_eq!(made.is_ok(), taken, "{url}");
    }
}

#[tokio::test]
async fn endpoint_events_are_validated_and_deduplicated() {
    use NotificationKind as Told;
    let world = World::new().await;
    let mut request = endpoint_request("pager", URL);
    for (events, value) in [
        (vec![], "``"),
        (vec![Told::EndpointTest], "endpoint.test"),
        (vec![Told::RunFailed, Told::EndpointTest], "endpoint.test"),
    ] {
        request.events = events;
        let refused = world.service.create_endpoint(&request, None).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.field(), Some("events"));
        let detail = error_chain(&refused);
        let (given, accepted) = detail.split_once("expected one or more of").unwrap();
        assert!(given.contains(value), "{detail}");
        assert!(accepted.contains("run.failed"), "{detail}");
        assert!(!accepted.contains("endpoint.test"), "{detail}");
    }
    request.events = vec![Told::RunFailed, Told::MessagePublished, Told::RunFailed];
    let made = world.service.create_endpoint(&request, None).await.unwrap();
    let mut events = made.endpoint.events.clone();
    events.sort_unstable();
    assert_eq!(events, [Told::MessagePublished, Told::RunFailed]);
}

#[tokio::test]
async fn endpoint_of_unknown_automation_is_refused() {
    let world = World::new().await;
    let view = world.service.create_automation(&request(), None).await;
    let mut asked = endpoint_request("pager", URL);
    asked.automation = Some("nwes".into());
    let refused = world.service.create_endpoint(&asked, None).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(
        error_chain(&refused).contains("did you mean `news`?"),
        "{refused}"
    );
    asked.automation = Some("news".into());
    asked.channel = Some("slack".into());
    world.service.create_endpoint(&asked, None).await.unwrap();
    let made = world.service.endpoint("pager").await.unwrap();
    assert_eq!(made.automation_id, Some(view.unwrap().automation.id));
    assert_eq!(made.channel.as_deref(), Some("slack"));
    asked.channel = Some("two\nlines".into());
    let refused = world.service.edit_endpoint(&made, &asked).await;
    assert_eq!(refused.unwrap_err().field(), Some("channel"));
}

#[tokio::test]
async fn endpoint_secret_is_returned_once_and_name_is_unique() {
    let world = World::new().await;
    let id = EndpointId::generate(world.clock_now(), &testkit::clock::SeededEntropy::new(5));
    let first = world
        .service
        .create_endpoint(&endpoint_request("pager", URL), Some(id))
        .await
        .unwrap();
    assert!(first.secret.as_ref().unwrap().starts_with("whsec_"));
    assert!(!format!("{first:?}").contains("whsec_"));
    let again = world
        .service
        .create_endpoint(&endpoint_request("pager", URL), Some(id))
        .await
        .unwrap();
    assert_eq!((again.endpoint, again.secret), (first.endpoint, None));
    let taken = world
        .service
        .create_endpoint(&endpoint_request("pager", URL), None)
        .await;
    let taken = taken.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Refused);
    assert!(error_chain(&taken).contains("`pager`"), "{taken}");
    for given in ["pager", &id.to_string()] {
        assert_eq!(world.service.endpoint(given).await.unwrap().id, id);
    }
    let unknown = world.service.endpoint("pagre").await.unwrap_err();
    assert!(error_chain(&unknown).contains("did you mean `pager`?"));
}

#[tokio::test]
async fn endpoint_edit_of_stale_version_is_refused() {
    let world = World::new().await;
    world.endpoint("pager").await;
    let seen = world.service.endpoint("pager").await.unwrap();
    // The clock stands still: two changes in one microsecond are two.
    let mine = endpoint_request("mine", "https://mine.example.org/");
    let mine = world.service.edit_endpoint(&seen, &mine).await.unwrap();
    assert_eq!((&*mine.name, mine.id), ("mine", seen.id));
    let theirs = endpoint_request("theirs", "https://theirs.example.org/");
    let lost = world.service.edit_endpoint(&seen, &theirs).await;
    let lost = lost.unwrap_err();
    assert!(lost.is_changed(), "{lost}");
    assert_eq!(lost.kind(), ErrorKind::Refused);
    assert_eq!(world.service.endpoint("mine").await.unwrap(), mine);
    let after = world.service.edit_endpoint(&mine, &theirs).await;
    assert_eq!(after.unwrap().url, "https://theirs.example.org/");
}

#[tokio::test]
async fn test_delivery_is_redelivered_only_after_it_ended() {
    let world = World::new().await;
    let endpoint = world.endpoint("pager").await.endpoint.id;
    let sent = world.service.test_endpoint("pager", None).await.unwrap();
    assert_eq!(sent.delivery.kind, NotificationKind::EndpointTest);
    let text: Notification = serde_json::from_str(&sent.delivery.body).unwrap();
    assert_eq!(text.kind, NotificationKind::EndpointTest);
    assert_eq!(text.data.endpoint.unwrap().id, endpoint);
    assert_eq!(text.data.event, None);
    let state = |view: &DeliveryView| (view.delivery.state, view.log.len());
    assert_eq!(state(&sent), (DeliveryStatus::Pending, 0));
    let id = sent.delivery.id.to_string();
    let pending = world.service.redeliver(&id).await.unwrap_err();
    assert_eq!(pending.kind(), ErrorKind::Refused);
    assert!(
        error_chain(&pending).contains("` is pending, so"),
        "{pending}"
    );

    // One that is tried again later still is.
    world.deliver(endpoint, 500).await;
    assert!(world.service.redeliver(&id).await.is_err());
    world.clock.advance(limits::DELIVERY_BACKOFF_MAX);
    world.deliver(endpoint, 204).await;
    let arrived = world.service.delivery(&id).await.unwrap();
    assert_eq!(state(&arrived), (DeliveryStatus::Delivered, 2));

    let again = world.service.redeliver(&id).await.unwrap();
    assert_eq!(state(&again), (DeliveryStatus::Pending, 2));
    assert_eq!(again.delivery.id, sent.delivery.id);
    assert_eq!(again.delivery.body, sent.delivery.body);
    world.deliver(endpoint, 204).await;
    let arrived = world.service.delivery(&id).await.unwrap();
    assert_eq!(state(&arrived), (DeliveryStatus::Delivered, 3));
}

#[tokio::test]
async fn disabled_endpoint_gets_no_deliveries() {
    let world = World::new().await;
    world.endpoint("pager").await;
    let sent = world.service.test_endpoint("pager", None).await.unwrap();
    let disabled = world.service.disable_endpoint("pager").await.unwrap();
    assert_eq!(disabled.disabled_at, Some(world.clock_now()));
    assert_eq!(
        disabled.disabled_reason.as_deref(),
        Some("disabled by a person")
    );
    let id = sent.delivery.id.to_string();
    let given_up = world.service.delivery(&id).await.unwrap();
    assert_eq!(given_up.delivery.state, DeliveryStatus::Failed);
    let refusals = [
        world.service.test_endpoint("pager", None).await,
        world.service.redeliver(&id).await,
    ];
    for refused in refusals {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
        assert!(
            error_chain(&refused).contains("endpoint `pager` is disabled"),
            "{refused}"
        );
    }
    let enabled = world.service.enable_endpoint("pager").await.unwrap();
    assert_eq!((enabled.disabled_at, enabled.disabled_reason), (None, None));
    let again = world.service.redeliver(&id).await.unwrap();
    assert_eq!(again.delivery.state, DeliveryStatus::Pending);
}

#[tokio::test]
async fn deliveries_are_paginated_and_deleted_with_endpoint() {
    let world = World::new().await;
    world.endpoint("pager").await;
    world.endpoint("other").await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let one = world.service.test_endpoint("pager", None).await.unwrap();
        sent.insert(0, one.delivery.id);
        world.clock.advance(Duration::from_millis(1));
    }
    let first = world.service.deliveries("pager", None, 2).await.unwrap();
    let ids = |items: &[model::notification::Delivery]| {
        items.iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first.items), sent[..2]);
    let after = first.next.unwrap().parse().unwrap();
    let rest = world.service.deliveries("pager", Some(after), 2).await;
    let rest = rest.unwrap();
    assert_eq!((ids(&rest.items), rest.next), (sent[2..].to_vec(), None));
    let other = world.service.deliveries("other", None, 2).await.unwrap();
    assert!(other.items.is_empty());

    world.service.delete_endpoint("pager").await.unwrap();
    for given in [&*sent[0].to_string(), "no-id"] {
        let gone = world.service.delivery(given).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
        let gone = world.service.redeliver(given).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
    }
    assert_eq!(world.service.endpoints().await.unwrap().len(), 1);
}

#[tokio::test]
async fn rotated_endpoint_secret_keeps_previous_for_overlap() {
    let world = World::new().await;
    let made = world.endpoint("pager").await;
    let overlap = Duration::from_hours(2);
    let rotated = world
        .service
        .rotate_endpoint_secret("pager", overlap, None)
        .await
        .unwrap();
    let until = world.clock_now() + overlap;
    assert_eq!(rotated.previous_until, until);
    assert!(rotated.secret.is_some() && rotated.secret != made.secret);
    let shown = world.service.endpoint("pager").await.unwrap();
    assert_eq!(shown.previous_secret_until, Some(until));
}

#[tokio::test]
async fn repeated_endpoint_rotation_rotates_once() {
    let world = World::new().await;
    world.endpoint("pager").await;
    let now = world.clock_now();
    let id = uuid::Uuid::from_u128(7);
    let claimed = world
        .store
        .claim_idempotency_key(world.tenant, "k", &[1; 32], id, now);
    claimed.await.unwrap();
    let overlap = Duration::from_hours(2);
    let rotate = async || {
        let rotated = world
            .service
            .rotate_endpoint_secret("pager", overlap, Some("k"));
        rotated.await.unwrap()
    };
    let first = rotate().await;
    assert!(first.secret.is_some());
    world.clock.advance(Duration::from_secs(1));
    let second = rotate().await;
    assert_eq!(second.secret, None);
    assert_eq!(second.previous_until, first.previous_until);
    // So is the request answered that comes after that, too.
    let proposed = uuid::Uuid::from_u128(8);
    let again = world
        .store
        .claim_idempotency_key(world.tenant, "k", &[1; 32], proposed, now);
    let kept = serde_json::json!(second);
    let response = Some((200, kept));
    assert_eq!(
        again.await.unwrap(),
        store::KeyClaim::Repeated { id, response }
    );
}
