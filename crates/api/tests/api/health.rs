//! Liveness, readiness and metrics.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::{Api, ApiBuilder, Peer};
use api_types::CheckDepth;
use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use model::{
    Clock, Timestamp,
    access::{Permission, Role},
    agent::AgentConfig,
};
use serde_json::{Value, json};
use service::{Probe, ProbeError, ProbeFuture};
use store::database::Dialect;
use telemetry::Metrics;
use testkit::clock::SeededEntropy;
use tokio::sync::Notify;
use tower::ServiceExt as _;
use tracing::instrument::WithSubscriber as _;

use crate::world::World;

/// The `Host` header that requests need.
const OUR_HOST: (&str, &str) = ("host", "localhost:7347");

/// No agent is started here.
struct NoAgents;

impl Probe for NoAgents {
    fn probe<'a>(&'a self, _: &'a AgentConfig, _: CheckDepth) -> ProbeFuture<'a> {
        Box::pin(async { Err(ProbeError("no such program".into())) })
    }
}

/// The routes over a world's database, put together in another way.
fn routes(world: &World, change: impl FnOnce(ApiBuilder) -> ApiBuilder) -> Router {
    let api = Api::builder(
        world.store.clone(),
        world.tenant,
        world.clock.clone(),
        Arc::new(SeededEntropy::new(12)),
        Arc::new(NoAgents),
    );
    api::router(change(api).build())
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    #[track_caller]
    fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let problem: Value = serde_json::from_str(&self.text).unwrap();
        problem["detail"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.status.as_u16(), 200, "{}", self.text);
        self.text
    }
}

fn network() -> Peer {
    let from: SocketAddr = "127.0.0.1:50000".parse().unwrap();
    Peer::Network(from)
}

async fn send_request(
    routes: &Router,
    peer: Peer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = Request::builder().method(method).uri(path).extension(peer);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).unwrap();
    let (parts, body) = routes.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec()).unwrap(),
    }
}

async fn get(routes: &Router, path: &str) -> Answer {
    send_request(routes, network(), "GET", path, &[OUR_HOST]).await
}

async fn get_as(routes: &Router, token: &str, path: &str) -> Answer {
    let token = format!("Bearer {token}");
    let headers = [OUR_HOST, ("authorization", token.as_str())];
    send_request(routes, network(), "GET", path, &headers).await
}

async fn metrics(routes: &Router) -> String {
    let answer = send_request(routes, Peer::Private, "GET", "/metrics", &[]).await;
    answer.ok()
}

pub(crate) async fn health_routes_refuse_foreign_host(world: &World) {
    let routes = routes(world, |api| api);
    for path in ["/healthz", "/readyz", "/metrics"] {
        for host in ["evil.example", "rebound.evil.example:7347"] {
            let answer = send_request(&routes, network(), "GET", path, &[("host", host)]).await;
            assert!(answer.problem(403).contains("host"), "{path}");
        }
    }
}

pub(crate) async fn server_without_database_is_live_but_not_ready(world: &World) {
    let routes = routes(world, |api| api);
    assert_eq!(get(&routes, "/healthz").await.ok(), "ok");
    assert_eq!(get(&routes, "/readyz").await.ok(), "ok");
    world.store.database().clone().close().await;
    assert_eq!(get(&routes, "/healthz").await.ok(), "ok");
    let problem = get(&routes, "/readyz").await.problem(503);
    assert_eq!(problem, "not ready: the database does not answer");
    // The metrics of the process are still returned, and those of the queue are absent.
    let text = metrics(&routes).await;
    assert!(text.contains("matins_build_info"), "{text}");
    assert!(!text.contains("matins_runs{"), "{text}");
}

pub(crate) async fn server_with_ended_loop_is_live_but_not_ready(world: &World) {
    let live = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&live);
    let routes = routes(world, |api| {
        api.with_liveness_check(Arc::new(move || asked.load(Ordering::Relaxed)))
    });
    assert_eq!(get(&routes, "/readyz").await.ok(), "ok");
    live.store(false, Ordering::Relaxed);
    let problem = get(&routes, "/readyz").await.problem(503);
    assert_eq!(problem, "not ready: a worker loop has ended");
    assert_eq!(get(&routes, "/healthz").await.ok(), "ok");
}

/// A clock that shows the time of others, as far as it is known.
struct UncertainClock {
    time: Timestamp,
    uncertainty: Mutex<Duration>,
}

impl Clock for UncertainClock {
    fn now(&self) -> Timestamp {
        self.time
    }

    fn uncertainty(&self) -> Duration {
        *self.uncertainty.lock().unwrap()
    }

    fn machine_clock_lead_micros(&self) -> Option<i64> {
        Some(-90_000_000)
    }
}

/// Returns the routes of a server with an uncertain clock, and the control of the clock.
fn routes_with_uncertain_clock(world: &World) -> (Router, Arc<UncertainClock>) {
    let clock = Arc::new(UncertainClock {
        time: world.clock.now(),
        uncertainty: Mutex::new(Duration::MAX),
    });
    let api = Api::builder(
        world.store.clone(),
        world.tenant,
        Arc::<UncertainClock>::clone(&clock),
        Arc::new(SeededEntropy::new(13)),
        Arc::new(NoAgents),
    );
    (
        api::router(api.with_worker_loops(Arc::new(|| {})).build()),
        clock,
    )
}

pub(crate) async fn server_with_uncertain_clock_is_not_ready(world: &World) {
    let (routes, clock) = routes_with_uncertain_clock(world);
    let problem = get(&routes, "/readyz").await.problem(503);
    assert_eq!(
        problem,
        "not ready: the database's clock is not known within 5 s"
    );
    assert_eq!(get(&routes, "/healthz").await.ok(), "ok");
    *clock.uncertainty.lock().unwrap() = Duration::from_secs(5);
    assert_eq!(get(&routes, "/readyz").await.ok(), "ok");
}

pub(crate) async fn metrics_describe_shared_database(world: &World) {
    let (routes, clock) = routes_with_uncertain_clock(world);
    *clock.uncertainty.lock().unwrap() = Duration::from_millis(5001);
    let text = metrics(&routes).await;
    let lines = [
        "matins_clock_known 0",
        "matins_clock_offset_seconds -90.0",
        "matins_clock_uncertainty_seconds 5.001",
        "matins_database_connections{state=\"in_use\"}",
        "matins_database_oldest_transaction_seconds ",
        "matins_database_dead_rows{table=\"run_heartbeats\"} ",
    ];
    // Only PostgreSQL is shared: on SQLite there are no metrics of connections, of vacuum and of a common clock.
    let shared = world.store.database().dialect() == Dialect::Postgres;
    for line in lines {
        assert_eq!(
            text.contains(&format!("\n{line}")),
            shared,
            "{line}\n{text}"
        );
    }
}

pub(crate) async fn metrics_require_install_tenant_and_instances_read(world: &World) {
    let routes = routes(world, |api| api);
    get(&routes, "/metrics").await.problem(401);
    let foreign = world.other_tenant("acme").await;
    let refused = get_as(&routes, &foreign, "/metrics").await.problem(403);
    assert!(refused.contains("the tenant of the install"), "{refused}");
    let unscoped = world
        .token(Role::Viewer, Some(&[Permission::SessionsRead]))
        .await;
    let refused = get_as(&routes, &unscoped, "/metrics").await.problem(403);
    assert!(refused.contains("instances:read"), "{refused}");

    let scoped = world
        .token(Role::Viewer, Some(&[Permission::InstancesRead]))
        .await;
    for token in [&scoped, &world.admin] {
        let shown = get_as(&routes, token, "/metrics").await;
        let kind = shown.headers["content-type"].to_str().unwrap().to_owned();
        assert_eq!(
            kind,
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        );
        assert!(shown.ok().ends_with("# EOF\n"));
    }
    let private = send_request(&routes, Peer::Private, "GET", "/metrics", &[]).await;
    assert!(private.ok().ends_with("# EOF\n"));
}

pub(crate) async fn metrics_count_queued_runs_of_all_tenants(world: &World) {
    let routes = routes(world, |api| api);
    let foreign = world.other_tenant("acme").await;
    for token in [&foreign, &world.admin] {
        let asked = json!({ "agent": "good" });
        let made = world
            .request_as(token, "POST", "/sessions", Some(&asked), &[])
            .await;
        let session = made.expect(201)["id"].as_str().unwrap().to_owned();
        let said = json!({ "text": "Good morning" });
        let path = format!("/sessions/{session}/messages");
        // The second one waits for the first.
        for _ in 0..2 {
            let said = world
                .request_as(token, "POST", &path, Some(&said), &[])
                .await;
            said.expect(202);
        }
    }
    world.clock.advance(Duration::from_secs(90));
    let text = metrics(&routes).await;
    for line in [
        "matins_runs{status=\"queued\"} 2",
        "matins_runs{status=\"deferred\"} 2",
        "matins_runs{status=\"running\"} 0",
        "matins_oldest_queued_seconds 90.0",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
}

pub(crate) async fn request_metrics_have_route_label_without_ids(world: &World) {
    let metrics = Metrics::new("1.2.3");
    let counting = metrics.clone();
    let routes = routes(world, |api| api.with_metrics(counting));
    let session = world.session().await;
    let shown = get_as(
        &routes,
        &world.admin,
        &format!("/api/v1/sessions/{session}"),
    )
    .await;
    shown.ok();
    let unknown = get_as(&routes, &world.admin, "/api/v1/sessions/ses_unknown").await;
    unknown.problem(404);
    let token = format!("Bearer {}", world.admin);
    let signed_in = [OUR_HOST, ("authorization", token.as_str())];
    let path = format!("/api/v1/sessions/{session}?secret=of-a-query");
    send_request(&routes, network(), "BREW", &path, &signed_in)
        .await
        .problem(405);
    let path = format!("/nothing/{session}");
    get(&routes, &path).await.problem(404);
    // Requests that the guard refuses are counted as well.
    let foreign = [("host", "evil.example")];
    let path = format!("/api/v1/sessions/{session}");
    send_request(&routes, network(), "GET", &path, &foreign)
        .await
        .problem(403);

    let text = metrics.encode(None).unwrap();
    let route = "/api/v1/sessions/{session}";
    for (method, route, status) in [
        ("GET", route, 200),
        ("GET", route, 404),
        ("GET", route, 403),
        ("other", route, 405),
        ("GET", "none", 404),
    ] {
        let line = format!(
            "matins_http_request_seconds_count{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} 1"
        );
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    let id = session.split_once('_').unwrap().1;
    for kept in [id, "ses_", "unknown", "secret", "nothing", "BREW", "evil"] {
        assert!(!text.contains(kept), "{kept}\n{text}");
    }
}

pub(crate) async fn open_trace_is_counted_until_it_is_dropped(world: &World) {
    let routes = routes(world, |api| api);
    let session = world.session().await;
    let request = Request::builder()
        .uri(format!("/api/v1/sessions/{session}/trace"))
        .extension(Peer::Private)
        .body(Body::empty())
        .unwrap();
    let counted = async |count: u32| {
        let text = metrics(&routes).await;
        let line = format!("matins_traces_open {count}");
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    };
    counted(0).await;
    let trace = routes.clone().oneshot(request).await.unwrap();
    assert_eq!(trace.status(), StatusCode::OK);
    counted(1).await;
    drop(trace);
    counted(0).await;
}

/// Records the fields of spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<u8>>>, Arc<Notify>);

impl Spans {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Spans {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.lock().unwrap().write(bytes);
        self.1.notify_one();
        written
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) async fn request_span_has_method_route_and_status(world: &World) {
    let routes = routes(world, |api| api);
    let session = world.session().await;
    let spans = Spans::default();
    let kept = spans.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_writer(move || kept.clone())
        .with_ansi(false)
        .finish();
    let path = format!("/api/v1/sessions/{session}?secret=of-a-query");
    let asked = get_as(&routes, &world.admin, &path);
    asked.with_subscriber(subscriber).await.ok();
    let span = "request{method=GET route=\"/api/v1/sessions/{session}\" status=200}";
    // The thread of SQLite may hold the span a moment longer than the request.
    while !spans.text().contains(span) {
        spans.1.notified().await;
    }
    let told = spans.text();
    for kept in [session.as_str(), "secret", "mat_", "localhost"] {
        assert!(!told.contains(kept), "{kept}\n{told}");
    }
}
