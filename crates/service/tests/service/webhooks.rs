//! Incoming webhooks: a refusal does not tell which triggers exist, and each webhook fires once.

use std::time::Duration;

use api_types::{AutomationView, TriggerRequest, TriggerSpec};
use model::{
    Timestamp, TriggerId, limits,
    signing_secret::{SigningSecret, SigningSecrets},
};
use service::{RunQuery, Service, WebhookError, receive_webhook};
use store::{Scope, Store};
use webhook::{HeaderMap, ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, VerifyError, sign};

use crate::world::{World, cron, request};

const BODY: &[u8] = br#"{"ref":"main"}"#;

/// The first trigger of an automation for which a test says yes.
fn trigger(view: &AutomationView, is: impl Fn(&TriggerSpec) -> bool) -> TriggerId {
    let found = view.triggers.iter().find(|one| is(&one.spec));
    found.unwrap().id
}

impl World {
    /// An automation `deploy` with a webhook and a cron trigger: the id of the webhook's.
    async fn create_webhook_automation(&self) -> TriggerId {
        let mut asked = request();
        asked.name = Some("deploy".into());
        asked.triggers = vec![TriggerRequest::Webhook {}, cron("0 9 * * *")];
        let made = self.service.create_automation(&asked, None).await.unwrap();
        trigger(&made, |spec| *spec == TriggerSpec::Webhook {})
    }

    async fn secret(&self, trigger: TriggerId) -> SigningSecret {
        let secret = self
            .service
            .webhook_secret("deploy", &trigger.to_string())
            .await;
        secret.unwrap().parse().unwrap()
    }

    async fn receive(
        &self,
        trigger: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<api_types::ReceivedWebhook, WebhookError> {
        receive_webhook(&self.store, trigger, headers, body, self.clock_now()).await
    }
}

async fn runs(service: &Service) -> Vec<api_types::Run> {
    let query = RunQuery {
        limit: 100,
        ..RunQuery::default()
    };
    let page = service.runs(&query).await.unwrap();
    page.items.into_iter().map(|item| item.run).collect()
}

/// The headers of a webhook that was signed at an instant.
fn signed_headers(secret: &SigningSecret, id: &str, body: &[u8], at: Timestamp) -> HeaderMap {
    let seconds = at.as_microsecond() / 1_000_000;
    let mut headers = HeaderMap::new();
    headers.insert(ID_HEADER, id.parse().unwrap());
    headers.insert(TIMESTAMP_HEADER, seconds.into());
    let signature = sign(secret, id, seconds, body);
    headers.insert(SIGNATURE_HEADER, signature.parse().unwrap());
    headers
}

fn other_secret() -> SigningSecret {
    SigningSecret::generate(&testkit::clock::SeededEntropy::new(99))
}

/// Returns the text of a refusal, as the sender of the webhook sees it.
fn refusal_response(refused: &WebhookError) -> (String, Option<VerifyError>) {
    let detail = refused.to_string();
    match refused {
        WebhookError::Refused(refusal) => (detail, Some(*refusal)),
        _ => (detail, None),
    }
}

#[tokio::test]
async fn signed_webhook_creates_run() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await;
    let headers = signed_headers(&world.secret(hook).await, "msg_1", BODY, world.clock_now());
    let received = world.receive(&hook.to_string(), &headers, BODY).await;
    let received = received.unwrap();
    assert!(!received.already_received);
    let made = runs(&world.service).await;
    assert_eq!(made.len(), 1);
    let made = &made[0];
    assert_eq!((made.id, made.trigger_id), (received.run_id, Some(hook)));
}

#[tokio::test]
async fn unknown_trigger_and_wrong_signature_get_same_response() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await;
    let now = world.clock_now();
    let (right, wrong) = (world.secret(hook).await, other_secret());
    let view = world.service.automation("deploy").await.unwrap();
    let timed = trigger(&view, |spec| matches!(spec, TriggerSpec::Cron { .. }));
    let nowhere = [
        TriggerId::from_uuid(uuid(7)).to_string(),
        // Only webhook triggers have a secret.
        timed.to_string(),
        trigger(&view, |spec| *spec == TriggerSpec::Manual {}).to_string(),
        "no-id".into(),
        String::new(),
        "x".repeat(10_000),
    ];
    let without = |name| {
        let mut headers = signed_headers(&wrong, "msg_1", BODY, now);
        headers.remove(name);
        headers
    };
    let late = limits::WEBHOOK_TOLERANCE + Duration::from_secs(1);
    let table = [
        (
            signed_headers(&wrong, "msg_1", BODY, now),
            VerifyError::InvalidSignature,
        ),
        (
            signed_headers(&right, "msg_1", b"other", now),
            VerifyError::InvalidSignature,
        ),
        (
            signed_headers(&wrong, "a.b", BODY, now),
            VerifyError::InvalidId,
        ),
        (
            signed_headers(&wrong, "msg_1", BODY, now.saturating_sub(late)),
            VerifyError::TooOld,
        ),
        (
            signed_headers(&wrong, "msg_1", BODY, now + late),
            VerifyError::TooNew,
        ),
        (without(ID_HEADER), VerifyError::MissingHeader(ID_HEADER)),
        (
            without(TIMESTAMP_HEADER),
            VerifyError::MissingHeader(TIMESTAMP_HEADER),
        ),
        (
            without(SIGNATURE_HEADER),
            VerifyError::MissingHeader(SIGNATURE_HEADER),
        ),
        (HeaderMap::new(), VerifyError::MissingHeader(ID_HEADER)),
    ];
    for (headers, refusal) in &table {
        let known = world.receive(&hook.to_string(), headers, BODY).await;
        let known = refusal_response(&known.unwrap_err());
        assert_eq!(known.1, Some(*refusal));
        for given in &nowhere {
            let unknown = world.receive(given, headers, BODY).await.unwrap_err();
            assert_eq!(refusal_response(&unknown), known, "{given:.40} {headers:?}");
        }
    }
    assert!(runs(&world.service).await.is_empty());
}

#[tokio::test]
async fn webhook_for_unknown_trigger_is_refused_with_dummy_secret() {
    struct Zeros;
    impl model::Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }
    let world = World::new().await;
    let nobodys = SigningSecret::generate(&Zeros);
    let headers = signed_headers(&nobodys, "msg_1", BODY, world.clock_now());
    for given in [TriggerId::from_uuid(uuid(0)), TriggerId::from_uuid(uuid(7))] {
        let refused = world.receive(&given.to_string(), &headers, BODY).await;
        assert_eq!(
            refusal_response(&refused.unwrap_err()).1,
            Some(VerifyError::InvalidSignature)
        );
    }
}

#[tokio::test]
async fn webhook_for_removed_trigger_is_refused() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await;
    let secret = world.secret(hook).await;
    let given = hook.to_string();
    let view = world.service.automation("deploy").await.unwrap();
    let removed = world.service.remove_trigger(&view, &given, true).await;
    assert_eq!(removed.unwrap().triggers.len(), 2);
    let headers = signed_headers(&secret, "msg_1", BODY, world.clock_now());
    let refused = world.receive(&given, &headers, BODY).await.unwrap_err();
    assert_eq!(
        refusal_response(&refused).1,
        Some(VerifyError::InvalidSignature)
    );
    assert!(runs(&world.service).await.is_empty());
}

#[tokio::test]
async fn manual_trigger_cannot_be_removed() {
    let world = World::new().await;
    world.create_webhook_automation().await;
    let view = world.service.automation("deploy").await.unwrap();
    let manual = trigger(&view, |spec| *spec == TriggerSpec::Manual {}).to_string();
    let refused = world.service.remove_trigger(&view, &manual, false).await;
    assert_eq!(refused.unwrap_err().field(), Some("trigger"));
    let after = world.service.automation("deploy").await.unwrap();
    assert_eq!(after.triggers, view.triggers);
}

#[tokio::test]
async fn only_named_webhook_trigger_is_removed() {
    for which in [0, 1] {
        let world = World::new().await;
        let mut asked = request();
        asked.triggers = vec![TriggerRequest::Webhook {}, TriggerRequest::Webhook {}];
        asked.zone = None;
        let made = world.service.create_automation(&asked, None).await.unwrap();
        let is_hook = |one: &&api_types::Trigger| one.spec == TriggerSpec::Webhook {};
        let ids = |view: &AutomationView| -> Vec<_> {
            let hooks = view.triggers.iter().filter(is_hook);
            hooks.map(|one| one.id).collect()
        };
        let hooks = ids(&made);
        let given = hooks[which].to_string();
        let left = world.service.remove_trigger(&made, &given, false).await;
        let left = left.unwrap();
        assert_eq!(ids(&left), [hooks[1 - which]], "{which}");
    }
}

#[tokio::test]
async fn oversized_or_non_utf8_webhook_is_refused_and_id_is_reusable() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await.to_string();
    let secret = world.secret(hook.parse().unwrap()).await;
    let long = vec![b'x'; limits::WEBHOOK_PAYLOAD_BYTES + 1];
    let headers = signed_headers(&secret, "msg_1", &long, world.clock_now());
    let refused = world.receive(&hook, &headers, &long).await.unwrap_err();
    assert!(matches!(refused, WebhookError::TooLong), "{refused}");
    assert!(refused.to_string().contains("65536 bytes"), "{refused}");

    let odd = b"\xff\xfe";
    let headers = signed_headers(&secret, "msg_1", odd, world.clock_now());
    let refused = world.receive(&hook, &headers, odd).await.unwrap_err();
    assert!(matches!(refused, WebhookError::NotText), "{refused}");
    // Without the secret, the sender gets the signature error and not the error about the body.
    let headers = signed_headers(&other_secret(), "msg_1", odd, world.clock_now());
    let refused = world.receive(&hook, &headers, odd).await.unwrap_err();
    assert_eq!(
        refusal_response(&refused).1,
        Some(VerifyError::InvalidSignature)
    );
    assert!(runs(&world.service).await.is_empty());

    // A refused webhook does not use up its ID, and a body of the maximum length is accepted.
    let longest = &long[1..];
    let headers = signed_headers(&secret, "msg_1", longest, world.clock_now());
    let taken = world.receive(&hook, &headers, longest).await.unwrap();
    assert!(!taken.already_received);
}

#[tokio::test]
async fn webhook_replay_after_restart_creates_no_run() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await;
    let given = hook.to_string();
    let secret = world.secret(hook).await;
    let headers = signed_headers(&secret, "msg_1", BODY, world.clock_now());
    let first = world.receive(&given, &headers, BODY).await.unwrap();
    world.clock.advance(Duration::from_mins(4));
    let store: Store = world.reopen_store().await;
    let service = world.service_over(&store);
    let now = world.clock_now();
    let again = receive_webhook(&store, &given, &headers, BODY, now).await;
    let again = again.unwrap();
    assert_eq!((again.run_id, again.already_received), (first.run_id, true));
    // The sender's next attempt has the same id and another instant.
    let headers = signed_headers(&secret, "msg_1", BODY, now);
    let again = receive_webhook(&store, &given, &headers, BODY, now).await;
    assert!(again.unwrap().already_received);
    assert_eq!(runs(&service).await.len(), 1);
    let headers = signed_headers(&secret, "msg_2", BODY, now);
    let next = receive_webhook(&store, &given, &headers, BODY, now).await;
    assert!(!next.unwrap().already_received);
    assert_eq!(runs(&service).await.len(), 2);
}

#[tokio::test]
async fn previous_webhook_secret_is_valid_until_overlap_ends() {
    let world = World::new().await;
    let hook = world.create_webhook_automation().await;
    let given = hook.to_string();
    let before = world.secret(hook).await;
    let overlap = Duration::from_hours(1);
    let rotated = world
        .service
        .rotate_webhook_secret("deploy", &given, overlap, None)
        .await
        .unwrap();
    assert_eq!(rotated.previous_until, world.clock_now() + overlap);
    let current: SigningSecret = rotated.secret.unwrap().parse().unwrap();
    assert_eq!(current.reveal(), world.secret(hook).await.reveal());
    assert_ne!(current.reveal(), before.reveal());
    let world = &world;
    let sent = async |secret: &SigningSecret, id: &str| {
        let headers = signed_headers(secret, id, BODY, world.clock_now());
        world.receive(&given, &headers, BODY).await.is_ok()
    };
    assert!(sent(&before, "msg_1").await && sent(&current, "msg_2").await);
    world.clock.advance(overlap);
    assert!(!sent(&before, "msg_3").await && sent(&current, "msg_4").await);
    // The store agrees with these results.
    let found = world.store.webhook_trigger(Scope::System, hook).await;
    let secrets: SigningSecrets = found.unwrap().unwrap().secrets;
    assert_eq!(secrets.valid_at(world.clock_now()).len(), 1);
}

#[tokio::test]
async fn time_trigger_has_no_webhook_secret() {
    let world = World::new().await;
    world.create_webhook_automation().await;
    let view = world.service.automation("deploy").await.unwrap();
    let timed = trigger(&view, |spec| matches!(spec, TriggerSpec::Cron { .. })).to_string();
    let asked = world.service.webhook_secret("deploy", &timed).await;
    assert!(asked.unwrap_err().to_string().contains("webhook trigger"));
    let overlap = Duration::ZERO;
    let asked = world
        .service
        .rotate_webhook_secret("deploy", &timed, overlap, None)
        .await;
    assert!(asked.unwrap_err().to_string().contains("webhook trigger"));
}

fn uuid(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}
