//! Requests that are sent again.

use model::Clock as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::world::{Answer, World};

impl World {
    async fn once(&self, key: &str, path: &str, body: Option<Value>) -> Answer {
        let headers = [("idempotency-key", key)];
        self.ask_as(&self.admin, "POST", path, body.as_ref(), &headers)
            .await
    }

    async fn count(&self, list: &str) -> usize {
        let list = self.get(list).await.expect(200);
        list["items"].as_array().unwrap().len()
    }
}

pub(crate) async fn the_same_request_with_the_same_key_creates_once(world: &World) {
    let session = world.session().await;
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let words = json!({ "words": "Good morning" });
    let asked = json!({ "prompt": "Look.", "harness": "good" });
    let endpoint = json!({ "name": "e", "url": "https://example.com/", "events": ["run.failed"] });
    let token = json!({ "name": "t", "role": "viewer" });
    let all = [
        ("/sessions".to_owned(), Some(json!({ "harness": "good" }))),
        (format!("/sessions/{session}/messages"), Some(words)),
        ("/automations".to_owned(), Some(asked)),
        (format!("/automations/{automation}/fire"), None),
        ("/endpoints".to_owned(), Some(endpoint)),
        ("/tokens".to_owned(), Some(token)),
        ("/tenants".to_owned(), Some(json!({ "name": "other" }))),
    ];
    for (number, (path, body)) in all.into_iter().enumerate() {
        let key = format!("key {number}");
        let first = world.once(&key, &path, body.clone()).await;
        assert!(first.status.is_success(), "{path}: {}", first.text);
        assert!(!first.headers.contains_key("idempotency-replayed"));
        let again = world.once(&key, &path, body).await;
        assert_eq!(again.status, first.status, "{path}");
        assert_eq!(again.header("idempotency-replayed"), "true", "{path}");
        if !first.text.contains("secret") {
            assert_eq!(again.json(), first.json(), "{path}");
        }
    }
    assert_eq!(world.count("/sessions").await, 2);
    assert_eq!(
        world.count("/runs").await,
        2,
        "one that was said, one that was fired"
    );
    assert_eq!(world.count("/endpoints").await, 1);
    assert_eq!(world.count("/tenants").await, 2);
    let automations = world.get("/automations").await.expect(200);
    assert_eq!(automations["automations"].as_array().unwrap().len(), 2);
}

pub(crate) async fn a_key_of_another_request_is_refused(world: &World) {
    let one = json!({ "harness": "good", "title": "One" });
    let other = json!({ "harness": "good", "title": "Other" });
    world.once("k", "/sessions", Some(one)).await.expect(201);
    let refused = world.once("k", "/sessions", Some(other)).await;
    assert!(refused.problem(409).contains("another request"));
    // Another tenant's keys are its own.
    let foreign = world.other_tenant("other").await;
    let body = json!({ "harness": "good" });
    let headers = [("idempotency-key", "k")];
    let made = world.ask_as(&foreign, "POST", "/sessions", Some(&body), &headers);
    made.await.expect(201);
    for key in ["", " ", &"k".repeat(256), "ž"] {
        let refused = world.once(key, "/sessions", Some(body.clone())).await;
        assert!(refused.problem(400).contains("Idempotency-Key"), "{key}");
    }
}

pub(crate) async fn a_request_that_was_refused_may_come_again_put_right(world: &World) {
    let wrong = json!({ "harness": "none" });
    world.once("k", "/sessions", Some(wrong)).await.problem(404);
    let right = json!({ "harness": "good" });
    world.once("k", "/sessions", Some(right)).await.expect(201);
}

pub(crate) async fn a_request_that_nobody_lived_to_answer_is_answered_by_what_it_made(
    world: &World,
) {
    // As the server left it that died between the transition and its answer.
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let body = json!({ "words": "Good morning" }).to_string();
    let mut digest = Sha256::new();
    for part in ["POST", path.as_str(), body.as_str()] {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    let now = world.clock.now();
    let input = model::InputId::from_uuid(Uuid::from_u128(77));
    let (digest, id) = (digest.finalize().into(), input.uuid());
    let claimed = world.store.claim_key(world.tenant, "k", &digest, id, now);
    assert_eq!(claimed.await.unwrap(), store::KeyClaim::New(id));
    let id = session.parse().unwrap();
    let said = world
        .store
        .say_as(world.tenant, id, input, "Good morning", now);
    let run = said.await.unwrap().run_id;

    let words = json!({ "words": "Good morning" });
    let answer = world.once("k", &path, Some(words)).await.expect(202);
    assert_eq!(answer["id"], run.to_string());
    assert_eq!(world.count("/runs").await, 1);
}

pub(crate) async fn a_secret_is_shown_once(world: &World) {
    let token = json!({ "name": "t", "role": "viewer" });
    let made = world
        .once("k", "/tokens", Some(token.clone()))
        .await
        .expect(201);
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("mat_"));
    let again = world.once("k", "/tokens", Some(token)).await.expect(201);
    assert_eq!(again["secret"], Value::Null);
    assert_eq!(again["id"], made["id"]);
    for path in [
        "/tokens",
        &format!("/tokens/{}", made["id"].as_str().unwrap()),
    ] {
        assert!(!world.get(path).await.text.contains(secret));
    }
}
