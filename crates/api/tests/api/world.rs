//! An API over a database of its own, with two tenants, a stopped clock, and agents whose capabilities the
//! test sets.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use api::{Api, ApiBuilder, Peer};
use api_types::{CheckDepth, CheckFindings, TokenRequest};
use axum::{
    Router,
    body::{Body, Bytes},
};
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use model::{
    AcpSessionId, Clock as _, InstanceId, TenantId, TokenId,
    access::{Permission, Role, secret::TokenSecret},
    agent::{AgentConfig, OfferedCapabilities},
    outcome::{Outcome, StopReason},
    turn::{TurnResult, WriteOutcome},
};
use serde_json::{Value, json};
use service::{Probe, ProbeError, ProbeFuture, Service};
use store::{NewToken, Store, database::Dialect};
use tempfile::TempDir;
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

/// 10:00 in Prague, on a Saturday.
pub(crate) const NOW: &str = "2026-11-21T09:00:00Z";

/// How long a test waits for an event that must come, before it fails.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Agents whose programs begin with `good` resume; those of other programs cannot be started.
struct Agents {
    gate: Arc<Gate>,
}

/// Holds the starts of the agent whose program is `good-behind-gate`.
pub(crate) struct Gate {
    /// Gets a permit when such a start begins.
    pub(crate) reached: Semaphore,
    /// Each start waits for a permit and takes it.
    pub(crate) open: Semaphore,
}

impl Probe for Agents {
    fn probe<'a>(&'a self, config: &'a AgentConfig, _: CheckDepth) -> ProbeFuture<'a> {
        let program = config.command.first().map_or("", String::as_str);
        Box::pin(async move {
            if !program.starts_with("good") {
                return Err(ProbeError("no such program".into()));
            }
            if program == "good-behind-gate" {
                self.gate.reached.add_permits(1);
                self.gate.open.acquire().await.unwrap().forget();
            }
            Ok(CheckFindings {
                offers: OfferedCapabilities {
                    resume: true,
                    ..OfferedCapabilities::default()
                },
                ..CheckFindings::default()
            })
        })
    }
}

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) tenant: TenantId,
    pub(crate) dialect: Dialect,
    /// The secret of a token of an admin of the install's own tenant.
    pub(crate) admin: String,
    pub(crate) gate: Arc<Gate>,
    router: Router,
    folder: TempDir,
    // Dropped last.
    database: TestDatabase,
}

/// Another server of the same database.
pub(crate) struct OtherServer(Router);

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The body, if the status is the one that is expected.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        if self.text.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The detail of a problem of a status.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        let problem = self.expect(status);
        let kind = self.headers.get(header::CONTENT_TYPE).unwrap();
        assert_eq!(kind, "application/problem+json");
        assert_eq!(problem["status"], status);
        problem["detail"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

/// The address of a client on this machine.
fn client_address() -> SocketAddr {
    "127.0.0.1:50000".parse().unwrap()
}

fn request_with_token(
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/api/v1{path}"))
        .header("host", "localhost:7347")
        .header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = match body {
        None => Body::empty(),
        Some(body) => {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        }
    };
    request.body(body).unwrap()
}

impl World {
    pub(crate) async fn new(dialect: Dialect) -> Self {
        Self::with_api(dialect, |api| api).await
    }

    /// A world whose server is another than by default.
    pub(crate) async fn with_api(
        dialect: Dialect,
        other: impl FnOnce(ApiBuilder) -> ApiBuilder,
    ) -> Self {
        let migrate = async |url: &str| {
            store::open(&url.parse()?).await?.close().await;
            Ok(())
        };
        let database = match dialect {
            Dialect::Sqlite => TestDatabase::migrated_sqlite(migrate).await.unwrap(),
            Dialect::Postgres => TestDatabase::migrated_postgres(migrate).await.unwrap(),
        };
        let folder = tempfile::tempdir().unwrap();
        let entropy = Arc::new(SeededEntropy::new(11));
        let gate = Arc::new(Gate {
            reached: Semaphore::new(0),
            open: Semaphore::new(0),
        });
        let agents = Arc::new(Agents { gate: gate.clone() });
        let open = store::open(&database.url().parse().unwrap()).await.unwrap();
        let store = Store::new(open, entropy.clone(), folder.path().join("sessions"));
        let clock = Arc::new(FakeClock::at(NOW));
        let tenant = store.ensure_tenant("default", clock.now()).await.unwrap();
        let api = Api::builder(
            store.clone(),
            tenant,
            clock.clone(),
            entropy.clone(),
            agents.clone(),
        );
        let api = other(api).build();
        let service = Service::new(store.clone(), tenant, clock.clone(), entropy, agents);
        let config = AgentConfig::new(vec!["good-agent".into()]);
        service.add_agent("good", &config).await.unwrap();
        let admin = service
            .create_first_token(None, None)
            .await
            .unwrap()
            .secret
            .unwrap();
        Self {
            store,
            clock,
            tenant,
            dialect,
            admin,
            gate,
            router: api::router(api),
            folder,
            database,
        }
    }

    /// Starts another server of the same database.
    pub(crate) async fn another_server(&self) -> OtherServer {
        let entropy = Arc::new(SeededEntropy::new(12));
        let url = self.database.url().parse().unwrap();
        let folders = self.folder.path().join("sessions");
        let store = Store::new(store::open(&url).await.unwrap(), entropy.clone(), folders);
        let clock = self.clock.clone();
        let agents = Arc::new(Agents {
            gate: self.gate.clone(),
        });
        let api = Api::builder(store, self.tenant, clock, entropy, agents);
        OtherServer(api::router(api.build()))
    }

    /// Sends a request as it is, from a client on this machine.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        self.send_from(Peer::Network(client_address()), request)
            .await
    }

    pub(crate) async fn send_from(&self, peer: Peer, request: Request<Body>) -> Answer {
        Self::send_through(&self.router, peer, request).await
    }

    async fn send_through(router: &Router, peer: Peer, mut request: Request<Body>) -> Answer {
        request.extensions_mut().insert(peer);
        let response = router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        assert_eq!(
            parts.headers["matins-api-version"], "2",
            "every response has it"
        );
        let streams = parts
            .headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind == "text/event-stream");
        let body = if streams {
            // It goes on.
            Bytes::new()
        } else {
            body.collect().await.unwrap().to_bytes()
        };
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Asks with a token.
    pub(crate) async fn request_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.send(request_with_token(token, method, path, body, headers))
            .await
    }

    /// Asks with the admin's token, the other server if there is one.
    pub(crate) async fn post_to(
        &self,
        server: Option<&OtherServer>,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let request = request_with_token(&self.admin, "POST", path, body, headers);
        match server {
            None => self.send(request).await,
            Some(OtherServer(router)) => {
                Self::send_through(router, Peer::Network(client_address()), request).await
            }
        }
    }

    /// The ids of the first events of a trace, as many as there must be.
    pub(crate) async fn trace(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        count: usize,
    ) -> Vec<String> {
        let mut request = Request::builder()
            .uri(format!("/api/v1{path}"))
            .header("host", "localhost:7347")
            .header("authorization", format!("Bearer {}", self.admin))
            .extension(Peer::Network(client_address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let mut body = response.into_body();
        let mut text = String::new();
        let ids = |text: &str| {
            let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
            ids.map(str::to_owned).collect::<Vec<_>>()
        };
        while !text.ends_with("\n\n") || ids(&text).len() < count {
            let frame = tokio::time::timeout(EVENT_TIMEOUT, body.frame()).await;
            let frame = frame.unwrap_or_else(|_| panic!("no more came: {text}"));
            let bytes = frame.unwrap().unwrap().into_data().unwrap();
            text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
        ids(&text)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request_as(&self.admin, "GET", path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.request_as(&self.admin, "POST", path, Some(&body), &[])
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request_as(&self.admin, "DELETE", path, None, &[])
            .await
    }

    /// Makes a token of the own tenant, and gives its secret.
    pub(crate) async fn token(&self, role: Role, scopes: Option<&[Permission]>) -> String {
        let request = TokenRequest {
            name: "one more".into(),
            role,
            scopes: scopes.map(<[Permission]>::to_vec),
            expires_at: None,
        };
        let made = self.post("/tokens", json!(request)).await.expect(201);
        made["secret"].as_str().unwrap().to_owned()
    }

    /// Registers an instance of the own tenant, and gives the secret of its runtime's token.
    pub(crate) async fn runtime_token(&self, name: &str) -> String {
        self.seeded_runtime_token(name, 13).await
    }

    /// Registers an instance as [`Self::runtime_token`] does, whose ID comes from another seed.
    pub(crate) async fn seeded_runtime_token(&self, name: &str, seed: u64) -> String {
        let (now, entropy) = (self.clock.now(), SeededEntropy::new(seed));
        let instance = InstanceId::generate(now, &entropy);
        let registered = self
            .store
            .register_instance(self.tenant, instance, name, now);
        registered.await.unwrap();
        let secret = TokenSecret::generate(&entropy);
        let new = NewToken {
            id: TokenId::generate(now, &entropy),
            name: name.into(),
            role: Role::Runtime,
            scopes: None,
            hash: secret.hash(),
            secret_prefix: secret.display_prefix().into(),
            made_by: None,
            expires_at: None,
        };
        let created = self
            .store
            .create_runtime_token(self.tenant, instance, &new, now);
        created.await.unwrap();
        secret.reveal().to_owned()
    }

    /// Makes another tenant with the agent `good`, and gives the secret of its admin's token.
    pub(crate) async fn other_tenant(&self, name: &str) -> String {
        let made = self.post("/tenants", json!({ "name": name })).await;
        let token = made.expect(201)["token"]["secret"].clone();
        let token = token.as_str().unwrap().to_owned();
        let config = json!({ "command": ["good-agent"] });
        self.request_as(&token, "PUT", "/agents/good", Some(&config), &[])
            .await
            .expect(200);
        token
    }

    /// Begins a session of people, and gives its id.
    pub(crate) async fn session(&self) -> String {
        let made = self.post("/sessions", json!({ "agent": "good" })).await;
        made.expect(201)["id"].as_str().unwrap().to_owned()
    }

    /// Makes an automation that fires on demand.
    pub(crate) async fn automation(&self, name: &str) -> Value {
        let asked = json!({ "name": name, "prompt": "Look.", "agent": "good" });
        self.post("/automations", asked).await.expect(201)
    }
}

impl World {
    /// Takes the turns of a session's inputs, one after the other; each is answered "Done.".
    pub(crate) async fn take_turns(&self, session: &str) {
        let worker = model::WorkerId::from_stored("host-1-aaaaaaaa".into());
        let here = InstanceId::from_uuid(uuid::Uuid::from_u128(1));
        let registered = self
            .store
            .register_instance(self.tenant, here, "here", self.clock.now());
        registered.await.unwrap();
        let open = |view: &Value| !view["open_runs"].as_array().unwrap().is_empty();
        while open(&self.get(&format!("/sessions/{session}")).await.expect(200)) {
            let now = self.clock.now();
            let claimed = self.store.claim(&worker, here, 1, None, now).await.unwrap();
            let run = claimed[0].run;
            self.store
                .begin(run, &worker, here, now, None)
                .await
                .unwrap();
            let finished = TurnResult {
                answer: "Done.".into(),
                acp_session_id: Some(AcpSessionId::new("memory")),
                turn_ended: true,
                ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
            };
            let finished = self.store.finish(run, &worker, &finished, now);
            assert_eq!(finished.await.unwrap(), WriteOutcome::Committed);
        }
    }
}
