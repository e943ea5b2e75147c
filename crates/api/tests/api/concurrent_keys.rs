//! Requests with one idempotency key that arrive at the same time.

use std::pin::pin;

use futures::future::{self, Either};
use serde_json::{Value, json};

use crate::world::{Answer, OtherServer, World};

/// The number of pairs of each request.
const PAIRS: usize = 20;

/// A request that may be sent several times with one key.
struct Request {
    path: String,
    body: Option<Value>,
    /// The field of the response that only one of the responses contains.
    secret: Option<&'static str>,
}

impl Request {
    fn new(path: impl Into<String>, body: Value) -> Self {
        Self {
            path: path.into(),
            body: Some(body),
            secret: None,
        }
    }

    fn without_body(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            body: None,
            secret: None,
        }
    }

    fn with_secret(self, secret: &'static str) -> Self {
        Self {
            secret: Some(secret),
            ..self
        }
    }
}

impl World {
    async fn post_keyed(
        &self,
        server: Option<&OtherServer>,
        key: &str,
        request: &Request,
    ) -> Answer {
        let headers = [("idempotency-key", key)];
        let body = request.body.as_ref();
        self.post_to(server, &request.path, body, &headers).await
    }

    /// Creates the objects to which the requests of a round go, and returns one request of each kind.
    async fn keyed_requests(&self, round: usize) -> Vec<Request> {
        let session = self.session().await;
        let automation = format!("daily-{round}");
        self.automation(&automation).await;
        let hook = json!({ "kind": "webhook" });
        let triggers = format!("/automations/{automation}/triggers");
        let view = self.post(&triggers, hook.clone()).await.expect(201);
        let hooked = view["triggers"].as_array().unwrap().iter();
        let hooked = hooked.clone().find(|it| it["spec"]["kind"] == "webhook");
        let hooked = hooked.unwrap()["id"].as_str().unwrap();
        let other = self.session().await;
        let messages = format!("/sessions/{other}/messages");
        let run = self.post(&messages, json!({ "text": "x" })).await;
        let run = run.expect(202)["id"].as_str().unwrap().to_owned();
        let cancel = self.post(&format!("/runs/{run}/cancel"), json!({})).await;
        cancel.expect(200);
        let url = "https://example.com/";
        let endpoint = |name: &str| json!({ "name": name, "url": url, "events": ["run.failed"] });
        let tested = format!("tested-{round}");
        self.post("/endpoints", endpoint(&tested)).await.expect(201);
        let tested = format!("/endpoints/{tested}");
        let sent = self.post(&format!("{tested}/test"), json!({})).await;
        let sent = sent.expect(202)["id"].as_str().unwrap().to_owned();
        for way in ["disable", "enable"] {
            let way = format!("{tested}/{way}");
            self.post(&way, json!({})).await.expect(200);
        }
        let decided = self.begin_turn(&automation).await;
        let decided = self.request_approval(decided, "ls").await;
        let agent = "good";
        let prompt = format!("Look {round}.");
        let overlap = json!({ "overlap_seconds": 60 });
        vec![
            Request::new("/sessions", json!({ "agent": agent })),
            Request::new(
                "/sessions",
                json!({ "agent": agent, "session_key": format!("web:{round}") }),
            ),
            Request::new(
                format!("/sessions/{session}/messages"),
                json!({ "text": "x" }),
            ),
            Request::new(
                "/automations",
                json!({ "agent": agent, "prompt": prompt, "name": format!("named-{round}") }),
            ),
            Request::new("/automations", json!({ "agent": agent, "prompt": prompt })),
            Request::without_body(format!("/automations/{automation}/fire")),
            Request::new(&triggers, hook),
            Request::new(
                format!("{triggers}/{hooked}/rotate-secret"),
                overlap.clone(),
            )
            .with_secret("/secret"),
            Request::without_body(format!("/runs/{run}/retry")),
            Request::new(
                format!("/approvals/{decided}/allow"),
                json!({ "comment": "ok" }),
            ),
            Request::new("/endpoints", endpoint(&format!("new-{round}"))).with_secret("/secret"),
            Request::without_body(format!("{tested}/test")),
            Request::new(format!("{tested}/rotate-secret"), overlap).with_secret("/secret"),
            Request::without_body(format!("/deliveries/{sent}/redeliver")),
            Request::new("/tokens", json!({ "name": "t", "role": "viewer" }))
                .with_secret("/secret"),
            Request::new("/tenants", json!({ "name": format!("tenant-{round}") }))
                .with_secret("/token/secret"),
            Request::without_body("/sign-in-links").with_secret("/path"),
        ]
    }

    /// Sends pairs of equal requests at the same time, the second of each pair to `server`.
    async fn send_pairs(&self, server: Option<&OtherServer>) {
        let mut created_sessions = 0;
        for round in 0..PAIRS {
            let requests = self.keyed_requests(round).await;
            created_sessions += 4;
            for (kind, request) in requests.iter().enumerate() {
                let key = format!("{round} {kind}");
                let (one, other) = future::join(
                    self.post_keyed(None, &key, request),
                    self.post_keyed(server, &key, request),
                )
                .await;
                let path = &request.path;
                assert!(one.status.is_success(), "{round} {path}: {}", one.text);
                assert_eq!(other.status, one.status, "{round} {path}: {}", other.text);
                let third = self.post_keyed(server, &key, request).await;
                assert_eq!(third.header("idempotency-replayed"), "true");
                let mut responses = [one.json(), other.json(), third.json()];
                if let Some(secret) = request.secret
                    // Two servers make a link each, because the code of a link is not stored.
                    && !(server.is_some() && path == "/sign-in-links")
                {
                    let shown = responses.iter_mut().filter_map(|response| {
                        let shown = response.pointer_mut(secret).unwrap().take();
                        (!shown.is_null()).then_some(shown)
                    });
                    assert_eq!(shown.count(), 1, "{round} {path}");
                } else if let Some(secret) = request.secret {
                    for response in &mut responses {
                        response.pointer_mut(secret).unwrap().take();
                    }
                }
                assert_eq!(responses[0], responses[1], "{round} {path}");
                assert_eq!(responses[0], responses[2], "{round} {path}");
            }
        }
        let sessions = self.count_all("/sessions").await;
        assert_eq!(sessions, created_sessions);
    }

    /// Returns the number of objects in a list of several pages.
    async fn count_all(&self, list: &str) -> usize {
        let page = self.get(&format!("{list}?limit=500")).await.expect(200);
        page["items"].as_array().unwrap().len()
    }

    /// Adds the agent whose starts wait at the gate, and returns the request of a session with it.
    async fn session_behind_gate(&self) -> Request {
        let config = json!({ "command": ["good-behind-gate"] });
        let put = self.request_as(&self.admin, "PUT", "/agents/gated", Some(&config), &[]);
        put.await.expect(200);
        Request::new("/sessions", json!({ "agent": "gated" }))
    }
}

pub(crate) async fn concurrent_requests_with_one_key_get_one_response(world: &World) {
    world.send_pairs(None).await;
}

pub(crate) async fn concurrent_requests_with_one_key_on_two_servers_get_one_response(
    world: &World,
) {
    let other = world.another_server().await;
    world.send_pairs(Some(&other)).await;
}

pub(crate) async fn concurrent_refused_requests_release_their_key(world: &World) {
    let other = world.another_server().await;
    for (round, server) in [None, Some(&other)]
        .into_iter()
        .cycle()
        .take(PAIRS)
        .enumerate()
    {
        let key = format!("key {round}");
        let wrong = Request::new("/sessions", json!({ "agent": "none" }));
        let (one, two) = future::join(
            world.post_keyed(None, &key, &wrong),
            world.post_keyed(server, &key, &wrong),
        )
        .await;
        assert_eq!(one.problem(404), two.problem(404));
        let right = Request::new("/sessions", json!({ "agent": "good" }));
        world.post_keyed(server, &key, &right).await.expect(201);
    }
}

pub(crate) async fn second_request_waits_for_first(world: &World) {
    let request = world.session_behind_gate().await;
    let both = future::join(
        world.post_keyed(None, "k", &request),
        world.post_keyed(None, "k", &request),
    );
    let open = async {
        world.gate.reached.acquire().await.unwrap().forget();
        world.gate.open.add_permits(2);
    };
    let ((first, second), ()) = future::join(both, open).await;
    assert_eq!(first.expect(201), second.expect(201));
    // Either request may have come first.
    let replayed = [&first, &second];
    let replayed = replayed.map(|answer| answer.headers.contains_key("idempotency-replayed"));
    assert_ne!(replayed[0], replayed[1]);
    assert_eq!(
        world.gate.open.available_permits(),
        1,
        "the agent is started once"
    );
}

pub(crate) async fn second_request_is_answered_if_first_is_dropped(world: &World) {
    let request = world.session_behind_gate().await;
    let first = Box::pin(world.post_keyed(None, "k", &request));
    let reached = pin!(world.gate.reached.acquire());
    let first = match future::select(first, reached).await {
        Either::Left((answer, _)) => panic!("the gate is closed: {}", answer.text),
        Either::Right((reached, first)) => {
            reached.unwrap().forget();
            first
        }
    };
    let mut second = Box::pin(world.post_keyed(None, "k", &request));
    assert!(futures::poll!(&mut second).is_pending());
    // The server drops a request when its time is over, or when its client is away.
    drop(first);
    world.gate.open.add_permits(1);
    let created = second.await.expect(201);
    let third = world.post_keyed(None, "k", &request).await;
    assert_eq!(third.header("idempotency-replayed"), "true");
    assert_eq!(third.expect(201), created);
    assert_eq!(world.count_all("/sessions").await, 1);
}
