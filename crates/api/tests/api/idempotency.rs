//! Repeated requests with an idempotency key.

use model::Clock as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::world::{Answer, World};

impl World {
    async fn post_with_key(&self, key: &str, path: &str, body: Option<Value>) -> Answer {
        let headers = [("idempotency-key", key)];
        self.request_as(&self.admin, "POST", path, body.as_ref(), &headers)
            .await
    }

    /// Claims a key without a recorded response, as a server does that stops between the creation and its response.
    /// `made` is the created resource.
    async fn leave_key_unanswered(&self, key: &str, path: &str, bytes: &[u8], made: &Value) {
        let mut digest = Sha256::new();
        for part in [b"POST", path.as_bytes(), bytes] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let (_, digits) = made.as_str().unwrap().split_once('_').unwrap();
        let id = Uuid::try_parse(digits).unwrap();
        let (digest, now) = (digest.finalize().into(), self.clock.now());
        let claimed = self
            .store
            .claim_idempotency_key(self.tenant, key, &digest, id, now);
        assert_eq!(claimed.await.unwrap(), store::KeyClaim::New(id));
    }

    /// Creates a resource on a server that stops before its response, and returns the response of the next server to
    /// the repeated request. `then` runs in between.
    async fn create_before_crash(
        &self,
        path: &str,
        body: Option<Value>,
        made: &str,
        then: impl AsyncFnOnce(),
    ) -> (Answer, Answer) {
        let first = self
            .request_as(&self.admin, "POST", path, body.as_ref(), &[])
            .await;
        let id = first.json().pointer(made).unwrap().clone();
        let bytes = body.as_ref().map(Value::to_string).unwrap_or_default();
        let key = format!("crashed {path}");
        self.leave_key_unanswered(&key, path, bytes.as_bytes(), &id)
            .await;
        then().await;
        let second = self.post_with_key(&key, path, body).await;
        assert!(!second.headers.contains_key("idempotency-replayed"));
        assert_eq!(second.json().pointer(made), Some(&id), "{}", second.text);
        (first, second)
    }

    async fn count(&self, list: &str) -> usize {
        let list = self.get(list).await.expect(200);
        list["items"].as_array().unwrap().len()
    }
}

pub(crate) async fn repeated_request_with_same_key_creates_once(world: &World) {
    let session = world.session().await;
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let words = json!({ "text": "Good morning" });
    let asked = json!({ "prompt": "Look.", "agent": "good" });
    let endpoint = json!({ "name": "e", "url": "https://example.com/", "events": ["run.failed"] });
    let token = json!({ "name": "t", "role": "viewer" });
    let all = [
        ("/sessions".to_owned(), Some(json!({ "agent": "good" }))),
        (format!("/sessions/{session}/messages"), Some(words)),
        ("/automations".to_owned(), Some(asked)),
        (format!("/automations/{automation}/fire"), None),
        ("/endpoints".to_owned(), Some(endpoint)),
        ("/tokens".to_owned(), Some(token)),
        ("/tenants".to_owned(), Some(json!({ "name": "other" }))),
    ];
    for (number, (path, body)) in all.into_iter().enumerate() {
        let key = format!("key {number}");
        let first = world.post_with_key(&key, &path, body.clone()).await;
        assert!(first.status.is_success(), "{path}: {}", first.text);
        assert!(!first.headers.contains_key("idempotency-replayed"));
        let again = world.post_with_key(&key, &path, body).await;
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
    assert_eq!(automations["items"].as_array().unwrap().len(), 2);
}

pub(crate) async fn key_of_another_request_is_refused(world: &World) {
    let one = json!({ "agent": "good", "title": "One" });
    let other = json!({ "agent": "good", "title": "Other" });
    world
        .post_with_key("k", "/sessions", Some(one))
        .await
        .expect(201);
    let refused = world.post_with_key("k", "/sessions", Some(other)).await;
    assert!(refused.problem(409).contains("another request"));
    // Another tenant's keys are its own.
    let foreign = world.other_tenant("other").await;
    let body = json!({ "agent": "good" });
    let headers = [("idempotency-key", "k")];
    let made = world.request_as(&foreign, "POST", "/sessions", Some(&body), &headers);
    made.await.expect(201);
    for key in ["", " ", &"k".repeat(256), "ž"] {
        let refused = world
            .post_with_key(key, "/sessions", Some(body.clone()))
            .await;
        assert!(refused.problem(400).contains("Idempotency-Key"), "{key}");
    }
}

pub(crate) async fn key_of_refused_request_can_be_reused(world: &World) {
    let wrong = json!({ "agent": "none" });
    world
        .post_with_key("k", "/sessions", Some(wrong))
        .await
        .problem(404);
    let right = json!({ "agent": "good" });
    world
        .post_with_key("k", "/sessions", Some(right))
        .await
        .expect(201);
}

pub(crate) async fn retry_after_crash_returns_created_message(world: &World) {
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let words = json!({ "text": "Good morning" });
    let said = world.create_before_crash(&path, Some(words), "/input_id", async || {});
    let (first, second) = said.await;
    assert_eq!(first.expect(202)["id"], second.expect(202)["id"]);
    assert_eq!(world.count("/runs").await, 1);
}

pub(crate) async fn replayed_token_creation_omits_secret(world: &World) {
    let token = json!({ "name": "t", "role": "viewer" });
    let made = world
        .post_with_key("k", "/tokens", Some(token.clone()))
        .await
        .expect(201);
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("mat_"));
    let again = world
        .post_with_key("k", "/tokens", Some(token))
        .await
        .expect(201);
    assert_eq!(again["secret"], Value::Null);
    assert_eq!(again["id"], made["id"]);
    for path in [
        "/tokens",
        &format!("/tokens/{}", made["id"].as_str().unwrap()),
    ] {
        assert!(!world.get(path).await.text.contains(secret));
    }
}

pub(crate) async fn retry_after_crash_succeeds_despite_changed_conditions(world: &World) {
    // The session accepts no more messages.
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let words = json!({ "text": "Good morning" });
    let said = world.create_before_crash(&path, Some(words.clone()), "/input_id", async || {
        for way in ["cancel", "complete"] {
            let way = format!("/sessions/{session}/{way}");
            world.post(&way, json!({})).await.expect(200);
        }
        world.post(&path, words).await.problem(409);
    });
    assert_eq!(said.await.1.status, 202);
    assert_eq!(world.count("/runs").await, 1);
    // The token is over.
    let token = json!({ "name": "t", "role": "viewer", "expires_at": "2026-11-21T09:00:10Z" });
    let made = world.create_before_crash("/tokens", Some(token.clone()), "/id", async || {
        world.clock.advance(std::time::Duration::from_secs(10));
        world.post("/tokens", token).await.problem(422);
    });
    assert_eq!(made.await.1.expect(201)["secret"], Value::Null);
    // The automation of the endpoint is deleted.
    world.automation("daily").await;
    let endpoint = json!({
        "name": "e", "url": "https://example.com/", "events": ["run.failed"], "automation": "daily",
    });
    let made = world.create_before_crash("/endpoints", Some(endpoint.clone()), "/id", async || {
        world.delete("/automations/daily").await.expect(200);
        world.post("/endpoints", endpoint).await.problem(404);
    });
    assert_eq!(made.await.1.expect(201)["secret"], Value::Null);
    assert_eq!(world.count("/endpoints").await, 1);
}

pub(crate) async fn repeated_tenant_creation_makes_one_first_token(world: &World) {
    let asked = json!({ "name": "other" });
    let made = world.create_before_crash("/tenants", Some(asked), "/tenant/id", async || {});
    let (first, second) = made.await;
    let (first, second) = (first.expect(201), second.expect(201));
    assert_eq!(second["token"]["id"], first["token"]["id"]);
    assert_eq!(second["token"]["secret"], Value::Null);
    let secret = first["token"]["secret"].as_str().unwrap();
    let tokens = world.request_as(secret, "GET", "/tokens", None, &[]).await;
    let tokens = tokens.expect(200);
    assert_eq!(tokens["items"].as_array().unwrap().len(), 1, "{tokens}");
}

pub(crate) async fn repeated_endpoint_test_and_redelivery_are_sent_once(world: &World) {
    let endpoint = json!({ "name": "e", "url": "https://example.com/", "events": ["run.failed"] });
    world.post("/endpoints", endpoint).await.expect(201);
    let path = "/endpoints/e/test";
    let first = world.post_with_key("k", path, None).await.expect(202);
    let again = world.post_with_key("k", path, None).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.expect(202), first);
    assert_eq!(world.count("/endpoints/e/deliveries").await, 1);
    // The key has named the delivery.
    let sent = world.create_before_crash(path, None, "/id", async || {
        world
            .post("/endpoints/e/disable", json!({}))
            .await
            .expect(200);
        world.post(path, json!({})).await.problem(409);
    });
    assert_eq!(sent.await.1.status, 202);
    assert_eq!(world.count("/endpoints/e/deliveries").await, 2);

    // The failed delivery is queued again, once.
    world
        .post("/endpoints/e/enable", json!({}))
        .await
        .expect(200);
    let redeliver = format!("/deliveries/{}/redeliver", first["id"].as_str().unwrap());
    let again = world.post_with_key("r", &redeliver, None).await.expect(202);
    assert_eq!(
        (&again["id"], &again["state"]),
        (&first["id"], &json!("pending"))
    );
    let replayed = world.post_with_key("r", &redeliver, None).await;
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    // A server that died before its answer left it so.
    world.post_with_key("s", &redeliver, None).await.expect(202);
    world.post(&redeliver, json!({})).await.problem(409);
}

pub(crate) async fn repeated_rotation_with_same_key_rotates_once(world: &World) {
    let endpoint = json!({ "name": "e", "url": "https://example.com/", "events": ["run.failed"] });
    world.post("/endpoints", endpoint).await.expect(201);
    world.automation("daily").await;
    let hook = json!({ "kind": "webhook" });
    let view = world.post("/automations/daily/triggers", hook).await;
    let view = view.expect(201);
    let triggers = view["triggers"].as_array().unwrap();
    let trigger = triggers.iter().find(|one| one["spec"]["kind"] == "webhook");
    let trigger = trigger.unwrap()["id"].as_str().unwrap();
    let trigger = format!("/automations/daily/triggers/{trigger}");
    for (key, path) in [
        ("k", "/endpoints/e/rotate-secret".to_owned()),
        ("l", format!("{trigger}/rotate-secret")),
    ] {
        let asked = json!({ "overlap_seconds": 60 });
        let first = world.post_with_key(key, &path, Some(asked.clone())).await;
        let first = first.expect(200);
        assert!(first["secret"].as_str().unwrap().starts_with("whsec_"));
        world.clock.advance(std::time::Duration::from_secs(1));
        let again = world.post_with_key(key, &path, Some(asked)).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        let again = again.expect(200);
        assert_eq!(again["secret"], Value::Null);
        assert_eq!(again["previous_until"], first["previous_until"]);
        let other = json!({ "overlap_seconds": 61 });
        world
            .post_with_key(key, &path, Some(other))
            .await
            .problem(409);
        if key == "l" {
            let shown = world.get(&format!("{trigger}/secret")).await.expect(200);
            assert_eq!(
                shown["secret"], first["secret"],
                "it is the one that was detail"
            );
        }
    }
}

pub(crate) async fn replayed_sign_in_link_omits_code(world: &World) {
    let path = "/sign-in-links";
    let first = world.post_with_key("k", path, None).await.expect(201);
    let code = first["path"].as_str().unwrap();
    assert!(code.starts_with("/sign-in#mal_"));
    let again = world.post_with_key("k", path, None).await.expect(201);
    assert_eq!(again["path"], Value::Null);
    assert_eq!(again["expires_at"], first["expires_at"]);
}

pub(crate) async fn equal_trigger_is_added_once(world: &World) {
    world.automation("daily").await;
    let path = "/automations/daily/triggers";
    let cron = json!({ "kind": "cron", "expression": "0 9 * * *" });
    let (one, other) = tokio::join!(
        world.post(path, cron.clone()),
        world.post(path, cron.clone())
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201], "{} {}", one.text, other.text);
    assert_eq!(world.count(path).await, 2, "the manual one and this");
    // One that was removed since is not added again by the request that had added it.
    let hook = json!({ "kind": "webhook" });
    let added = world.post(path, hook.clone()).await.expect(201);
    let triggers = added["triggers"].as_array().unwrap();
    let trigger = triggers.iter().find(|one| one["spec"]["kind"] == "webhook");
    let id = &trigger.unwrap()["id"];
    let text = hook.to_string();
    world
        .leave_key_unanswered("k", path, text.as_bytes(), id)
        .await;
    let there = world.post_with_key("k", path, Some(hook.clone())).await;
    assert!(there.headers.contains_key("etag"));
    assert_eq!(there.expect(201)["triggers"], added["triggers"]);
    world
        .leave_key_unanswered("l", path, text.as_bytes(), id)
        .await;
    let one = format!("{path}/{}", id.as_str().unwrap());
    world.delete(&one).await.expect(200);
    world
        .post_with_key("l", path, Some(hook.clone()))
        .await
        .expect(201);
    assert_eq!(world.count(path).await, 2);
    // Each webhook is another one.
    for _ in 0..2 {
        world.post(path, hook.clone()).await.expect(201);
    }
    assert_eq!(world.count(path).await, 4);
}
