//! What the routes work with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::{Clock, Entropy, TenantId, allowance::Allowance};
use service::{Probe, Service};
use store::Store;
use telemetry::Metrics;
use tokio_util::sync::CancellationToken;

use crate::{
    hosts::Hosts,
    sign_ins::SignIns,
    token_uses::Uses,
    trace::{Hub, Settings},
};

/// Makes whoever takes turns look, after something was asked for.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Whether those who take turns and fire triggers are at it.
pub type Live = Arc<dyn Fn() -> bool + Send + Sync>;

/// Where a request comes from. Whoever serves puts it into the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The private socket of a data folder, which its owner alone may open, or this process itself: an admin
    /// of the install's own tenant.
    Private,
    /// The network.
    Network(std::net::SocketAddr),
}

/// What the routes work with. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    pub(crate) shared: Arc<Shared>,
}

/// An API that is being put together.
pub struct ApiBuilder(Shared);

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) probe: Arc<dyn Probe>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) demo_command: Vec<String>,
    pub(crate) allowance: Allowance,
    pub(crate) wake: Wake,
    pub(crate) live: Live,
    pub(crate) metrics: Metrics,
    pub(crate) hosts: Hosts,
    pub(crate) serves: bool,
    pub(crate) unified: bool,
    pub(crate) by_tls: bool,
    pub(crate) patience: Duration,
    pub(crate) traces: Hub,
    pub(crate) uses: Uses,
    pub(crate) sign_ins: SignIns,
}

/// How long a request may take that starts no agent.
const PATIENCE: Duration = Duration::from_secs(30);

impl Api {
    /// Begins an API over a store. `tenant` is the install's own tenant, whose admins may make others;
    /// `probe` starts agents to see what they offer.
    pub fn over(
        store: Store,
        tenant: TenantId,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        probe: Arc<dyn Probe>,
    ) -> ApiBuilder {
        let traces = Hub::new(store.clone(), Settings::default(), CancellationToken::new());
        ApiBuilder(Shared {
            traces,
            store,
            tenant,
            clock,
            entropy,
            probe,
            environment: BTreeMap::new(),
            demo_command: Vec::new(),
            allowance: Allowance::default(),
            wake: Arc::new(|| {}),
            live: Arc::new(|| true),
            metrics: Metrics::new(env!("CARGO_PKG_VERSION")),
            hosts: Hosts::default(),
            serves: false,
            unified: false,
            by_tls: false,
            patience: PATIENCE,
            uses: Uses::default(),
            sign_ins: SignIns::default(),
        })
    }

    /// The rules over the store, for one tenant.
    pub(crate) fn service(&self, tenant: TenantId) -> Service {
        Service::new(
            self.shared.store.clone(),
            tenant,
            Arc::clone(&self.shared.clock),
            Arc::clone(&self.shared.entropy),
            Arc::clone(&self.shared.probe),
        )
        .allowing(self.shared.allowance.clone())
    }
}

impl ApiBuilder {
    /// Says that the process takes turns and fires triggers, and what makes it look.
    #[must_use]
    pub fn serving(mut self, wake: Wake) -> Self {
        self.0.wake = wake;
        self.0.serves = true;
        self
    }

    /// Says how it is known whether the loops of the process live. Where nobody says, there are none to die.
    #[must_use]
    pub fn ready(mut self, live: Live) -> Self {
        self.0.live = live;
        self
    }

    /// Says where requests are counted: where all that the process does is.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.0.metrics = metrics;
        self
    }

    /// Says what agents' programs are looked for in, and what starts the demonstration agent: for the harnesses
    /// of tenants that are made.
    #[must_use]
    pub fn agents(
        mut self,
        environment: BTreeMap<String, String>,
        demo_command: Vec<String>,
    ) -> Self {
        self.0.environment = environment;
        self.0.demo_command = demo_command;
        self
    }

    /// Says which addresses notifications may go to beside public ones.
    #[must_use]
    pub fn allowing(mut self, allowance: Allowance) -> Self {
        self.0.allowance = allowance;
        self
    }

    /// Says whether automations of the web are bound to one conversation.
    #[must_use]
    pub fn unified(mut self, unified: bool) -> Self {
        self.0.unified = unified;
        self
    }

    /// Says what ends every trace at once: a stop waits for none of them.
    #[must_use]
    pub fn stopped_by(mut self, stop: CancellationToken) -> Self {
        self.0.traces = Hub::new(self.0.store.clone(), Settings::default(), stop);
        self
    }

    /// Says under what names it is reached beside those of loopback, and whether by TLS.
    #[must_use]
    pub fn reached_by(mut self, names: &[String], by_tls: bool) -> Self {
        self.0.hosts = Hosts::beside_loopback(names);
        self.0.by_tls = by_tls;
        self
    }

    /// The API.
    pub fn build(self) -> Api {
        Api {
            shared: Arc::new(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::{Extension, body::Body};
    use bytes::Bytes;
    use futures::stream;
    use http::{Request, StatusCode};
    use http_body_util::BodyExt;
    use model::harness::HarnessConfig;
    use service::{ProbeError, Probing};
    use testkit::clock::{FakeClock, SeededEntropy};
    use tower::ServiceExt;
    use wire::Depth;

    use super::*;

    /// Whoever starts no agent.
    struct NoAgents;

    impl Probe for NoAgents {
        fn probe<'a>(&'a self, _: &'a HarnessConfig, _: Depth) -> Probing<'a> {
            Box::pin(async { Err(ProbeError("no such program".into())) })
        }
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_is_given_up() {
        let location = store::Location::SqliteMemory;
        let entropy = Arc::new(SeededEntropy::new(1));
        let clock = Arc::new(FakeClock::at("2026-11-21T09:00:00Z"));
        let database = store::open(&location).await.unwrap();
        let store = Store::new(database, entropy.clone(), "/data/sessions".into());
        let tenant = store.ensure_tenant("default", clock.now()).await.unwrap();
        let mut builder = Api::over(store, tenant, clock, entropy, Arc::new(NoAgents));
        assert_eq!(builder.0.patience, PATIENCE);
        builder.0.patience = Duration::ZERO;
        let routes = crate::router(builder.build()).layer(Extension(Peer::Private));
        for path in ["automations", "webhooks/check", "harnesses/any/check"] {
            // Its body never comes.
            let never = stream::pending::<Result<Bytes, Infallible>>();
            let request = Request::post(format!("/api/v1/{path}"))
                .header("host", "localhost")
                .header("content-type", "application/json")
                .body(Body::from_stream(never))
                .unwrap();
            let answer = routes.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
            let told = answer.into_body().collect().await.unwrap().to_bytes();
            let told = String::from_utf8_lossy(&told);
            assert!(told.contains("failed to answer within 0 s"), "{told}");
        }
    }
}
