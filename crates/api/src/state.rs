//! The state that all routes share, and the builder with which a server process makes it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use model::{
    Clock, Entropy, TenantId, access::secret_mask::SecretMask, allowlist::Allowlist, limits,
    schedule::Zone,
};
use serde_json::Value;
use service::{ArtifactFiles, Probe, RunTools, Service};
use store::Store;
use telemetry::Metrics;
use tokio_util::sync::CancellationToken;

use crate::{
    hosts::Hosts,
    keys_in_progress::KeysInProgress,
    sign_in_limiter::SignInLimiter,
    token_uses::TokenUses,
    trace::{Hub, TraceSettings},
};

/// Wakes the worker loops of the process after a request has committed work for them.
pub type WakeCallback = Arc<dyn Fn() + Send + Sync>;

/// Returns `true` while all worker loops of the process run.
pub type LivenessCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// The origin of a request. The code that accepts connections stores it in the extensions of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The private socket of a data folder, which only its owner can open, or this process itself. The request acts
    /// as an admin of the install's own tenant.
    Private,
    /// The private socket, opened by a process of a turn. No request of it is accepted.
    Agent,
    /// The network, with the address of the client.
    Network(std::net::SocketAddr),
}

/// The state that all routes share. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    pub(crate) shared: Arc<ApiState>,
}

/// An API under construction.
pub struct ApiBuilder(ApiState);

pub(crate) struct ApiState {
    pub(crate) store: Store,
    /// The install's own tenant, whose admins may create other tenants.
    pub(crate) tenant: TenantId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) probe: Arc<dyn Probe>,
    /// The environment variables by which installed agents are found.
    pub(crate) environment: BTreeMap<String, String>,
    /// The command line of the demonstration agent, for the agents of new tenants.
    pub(crate) demo_command: Vec<String>,
    pub(crate) allowance: Allowlist,
    pub(crate) wake_loops: WakeCallback,
    pub(crate) is_live: LivenessCheck,
    pub(crate) metrics: Metrics,
    pub(crate) hosts: Hosts,
    /// `true` if the process takes turns and fires triggers.
    pub(crate) has_worker_loops: bool,
    pub(crate) unified: bool,
    /// The number of turns that the worker pool takes at a time. `None` if it is unknown.
    pub(crate) workers: Option<u32>,
    pub(crate) artifact_files: Option<ArtifactFiles>,
    pub(crate) agent_tools: Option<AgentTools>,
    /// `true` if browsers reach the server by TLS, so that cookies are `Secure`.
    pub(crate) by_tls: bool,
    /// The time limit of a request that starts no agent.
    pub(crate) request_timeout: Duration,
    pub(crate) turn_timing: TurnTiming,
    pub(crate) traces: Hub,
    pub(crate) token_uses: TokenUses,
    pub(crate) sign_in_limiter: SignInLimiter,
    pub(crate) keys_in_progress: KeysInProgress,
}

/// The times by which the server judges the workers of turns, and which runtimes follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnTiming {
    /// The period of heartbeats.
    pub heartbeat: Duration,
    /// The time that an agent may live after a heartbeat. It is shorter than the age from which a heartbeat is stale.
    pub lease: Duration,
    /// The highest uncertainty of the clock at which the server dates a claim or a heartbeat.
    pub clock_uncertainty: Duration,
}

/// The tools of the agents whose turns runtimes take.
#[derive(Clone)]
pub struct AgentTools {
    /// Answers a message of an agent.
    pub answer: ToolAnswerer,
    /// The age at which the heartbeat of a run is stale.
    pub stale_after: Duration,
    /// The zone of a schedule for which an agent names none.
    pub zone: Zone,
}

/// Answers a message of an agent. Returns `None` if the message needs no answer.
pub type ToolAnswerer = fn(ToolMessage) -> BoxFuture<'static, Option<Value>>;

/// A message of an agent to its tools.
pub struct ToolMessage {
    /// The tools of the agent's run.
    pub tools: RunTools,
    /// The mask for the secret of the run, so that no tool stores it.
    pub mask: SecretMask,
    /// The number of calls of tools of the turn before this message.
    pub calls_before: u32,
    /// The message.
    pub message: Value,
}

impl Default for TurnTiming {
    fn default() -> Self {
        Self {
            heartbeat: limits::HEARTBEAT_INTERVAL,
            lease: limits::HEARTBEAT_STALE_AFTER.saturating_sub(limits::LEASE_MARGIN),
            clock_uncertainty: limits::MAX_CLOCK_UNCERTAINTY,
        }
    }
}

/// The time limit of a request that starts no agent.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl Api {
    /// Returns a builder of an API over a store. `tenant` is the install's own tenant, whose admins may create other
    /// tenants. `probe` starts agents to read their capabilities.
    pub fn builder(
        store: Store,
        tenant: TenantId,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        probe: Arc<dyn Probe>,
    ) -> ApiBuilder {
        let traces = Hub::new(
            store.clone(),
            TraceSettings::default(),
            CancellationToken::new(),
        );
        ApiBuilder(ApiState {
            traces,
            store,
            tenant,
            clock,
            entropy,
            probe,
            environment: BTreeMap::new(),
            demo_command: Vec::new(),
            allowance: Allowlist::default(),
            wake_loops: Arc::new(|| {}),
            is_live: Arc::new(|| true),
            metrics: Metrics::new(env!("CARGO_PKG_VERSION")),
            hosts: Hosts::default(),
            has_worker_loops: false,
            unified: false,
            workers: None,
            artifact_files: None,
            agent_tools: None,
            by_tls: false,
            request_timeout: REQUEST_TIMEOUT,
            turn_timing: TurnTiming::default(),
            token_uses: TokenUses::default(),
            sign_in_limiter: SignInLimiter::default(),
            keys_in_progress: KeysInProgress::default(),
        })
    }

    /// Returns the service of one tenant.
    pub(crate) fn service(&self, tenant: TenantId) -> Service {
        Service::new(
            self.shared.store.clone(),
            tenant,
            Arc::clone(&self.shared.clock),
            Arc::clone(&self.shared.entropy),
            Arc::clone(&self.shared.probe),
        )
        .with_allowance(self.shared.allowance.clone())
        .with_artifact_files(self.shared.artifact_files.clone())
        .with_workers(self.shared.workers)
    }
}

impl ApiBuilder {
    /// Sets the callback that wakes the worker loops, and marks the process as one that takes turns and fires
    /// triggers.
    #[must_use]
    pub fn with_worker_loops(mut self, wake: WakeCallback) -> Self {
        self.0.wake_loops = wake;
        self.0.has_worker_loops = true;
        self
    }

    /// Sets the check whether the worker loops of the process run. Without it, the process has no loops and counts as
    /// ready.
    #[must_use]
    pub fn with_liveness_check(mut self, live: LivenessCheck) -> Self {
        self.0.is_live = live;
        self
    }

    /// Sets the metrics in which requests are counted, so that they appear beside those of the rest of the process.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Metrics) -> Self {
        self.0.metrics = metrics;
        self
    }

    /// Sets the environment in which the programs of agents are looked up, and the command line of the demonstration
    /// agent. New tenants get an agent with that command line.
    #[must_use]
    pub fn with_agents(
        mut self,
        environment: BTreeMap<String, String>,
        demo_command: Vec<String>,
    ) -> Self {
        self.0.environment = environment;
        self.0.demo_command = demo_command;
        self
    }

    /// Sets the addresses that notifications may go to beside public ones.
    #[must_use]
    pub fn with_allowance(mut self, allowance: Allowlist) -> Self {
        self.0.allowance = allowance;
        self
    }

    /// Sets unified mode, in which automations that are created from the web are bound to one conversation.
    #[must_use]
    pub fn with_unified_mode(mut self, unified: bool) -> Self {
        self.0.unified = unified;
        self
    }

    /// Sets the number of turns that the worker pool takes at a time, which goals may not use up.
    #[must_use]
    pub fn with_workers(mut self, workers: u32) -> Self {
        self.0.workers = Some(workers);
        self
    }

    /// Sets the times by which the server judges the workers of turns.
    #[must_use]
    pub fn with_turn_timing(mut self, timing: TurnTiming) -> Self {
        self.0.turn_timing = timing;
        self
    }

    /// Sets the folder with the contents of artifacts that this process serves.
    #[must_use]
    pub fn with_artifact_files(mut self, files: ArtifactFiles) -> Self {
        self.0.artifact_files = Some(files);
        self
    }

    /// Sets the tools of the agents whose turns runtimes take.
    #[must_use]
    pub fn with_agent_tools(mut self, tools: AgentTools) -> Self {
        self.0.agent_tools = Some(tools);
        self
    }

    /// Sets the token that ends every trace at once, so that a stop of the server waits for no trace.
    #[must_use]
    pub fn with_stop_token(mut self, stop: CancellationToken) -> Self {
        self.0.traces = Hub::new(self.0.store.clone(), TraceSettings::default(), stop);
        self
    }

    /// Sets the host names by which clients reach the server beside those of loopback, and whether they use TLS.
    #[must_use]
    pub fn with_hosts(mut self, names: &[String], by_tls: bool) -> Self {
        self.0.hosts = Hosts::with_loopback(names);
        self.0.by_tls = by_tls;
        self
    }

    /// Returns the finished API.
    pub fn build(self) -> Api {
        Api {
            shared: Arc::new(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use api_types::CheckDepth;
    use axum::{Extension, body::Body};
    use bytes::Bytes;
    use futures::stream;
    use http::{Request, StatusCode};
    use http_body_util::BodyExt;
    use model::agent::AgentConfig;
    use service::{ProbeError, ProbeFuture};
    use testkit::clock::{FakeClock, SeededEntropy};
    use tower::ServiceExt;

    use super::*;

    /// A probe that starts no agent.
    struct NoAgents;

    impl Probe for NoAgents {
        fn probe<'a>(&'a self, _: &'a AgentConfig, _: CheckDepth) -> ProbeFuture<'a> {
            Box::pin(async { Err(ProbeError("no such program".into())) })
        }
    }

    #[tokio::test]
    async fn request_over_time_limit_gets_503() {
        let location = store::Location::SqliteMemory;
        let entropy = Arc::new(SeededEntropy::new(1));
        let clock = Arc::new(FakeClock::at("2026-11-21T09:00:00Z"));
        let database = store::open(&location).await.unwrap();
        let store = Store::new(database, entropy.clone(), "/data/sessions".into());
        let tenant = store.ensure_tenant("default", clock.now()).await.unwrap();
        let mut builder = Api::builder(store, tenant, clock, entropy, Arc::new(NoAgents));
        assert_eq!(builder.0.request_timeout, REQUEST_TIMEOUT);
        builder.0.request_timeout = Duration::ZERO;
        let routes = crate::router(builder.build()).layer(Extension(Peer::Private));
        for path in ["automations", "webhooks/check", "agents/any/check"] {
            // The body of the request never arrives.
            let never = stream::pending::<Result<Bytes, Infallible>>();
            let request = Request::post(format!("/api/v1/{path}"))
                .header("host", "localhost")
                .header("content-type", "application/json")
                .body(Body::from_stream(never))
                .unwrap();
            let answer = routes.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains("the request took longer than 0 s"), "{body}");
        }
    }
}
