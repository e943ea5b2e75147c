//! The routes of a server, for runtimes of tests.

use std::sync::Arc;

use api::{Api, Peer, TurnTiming};
use api_types::CheckDepth;
use axum::{Extension, Router};
use daemon::Host;
use model::{TenantId, agent::AgentConfig};
use service::{Probe, ProbeError, ProbeFuture};

/// Returns the routes of a server over the store of a host.
pub(crate) fn routes(host: &Host) -> Router {
    let api = Api::builder(
        host.store.clone(),
        // The tenant of the private socket, which no runtime uses.
        TenantId::from_uuid(uuid::Uuid::nil()),
        Arc::clone(&host.clock),
        Arc::clone(&host.entropy),
        Arc::new(NoAgents),
    );
    let timing = TurnTiming {
        heartbeat: host.settings.heartbeat,
        lease: host.settings.lease(),
        clock_uncertainty: host.settings.clock_uncertainty(),
    };
    // The token of a request wins over the socket.
    api::router(api.with_turn_timing(timing).build()).layer(Extension(Peer::Private))
}

/// A probe that starts no agent.
struct NoAgents;

impl Probe for NoAgents {
    fn probe<'a>(&'a self, _: &'a AgentConfig, _: CheckDepth) -> ProbeFuture<'a> {
        Box::pin(async { Err(ProbeError("no agent is probed here".into())) })
    }
}
