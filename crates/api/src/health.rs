//! What those ask who keep the server running: whether it lives, whether it is of use, and its figures.
//!
//! They stand beside `/api/v1`, where probes and scrapers look for them, and are no part of its document.

use std::time::Duration;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use model::access::Permission;
use store::Scope;
use telemetry::Queue;
use tokio::time::timeout;
use wire::ProblemKind;

use crate::{Api, caller::Caller, problem::Failure};

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What Prometheus calls the format of the figures.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes. The first two tell nobody anything, so that nobody must have signed in.
pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(figures))
}

/// Whether requests can be answered, and what is due be fired.
async fn readiness(State(api): State<Api>) -> Result<&'static str, Failure> {
    let shared = &api.shared;
    if !(shared.live)() {
        return Err(unavailable("failed to be ready: a loop has ended"));
    }
    // One row by its key: that the database answers, and is the one that it was.
    let asked = shared.store.tenant(Scope::System, shared.tenant);
    match timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => Ok("ok"),
        Ok(Err(error)) => {
            tracing::warn!(
                error = error.chain(),
                "the server is not ready: the database does not answer"
            );
            Err(unavailable("failed to be ready: the database is away"))
        }
        Err(_) => Err(unavailable(format!(
            "failed to be ready: the database has not answered within {} s",
            PATIENCE.as_secs()
        ))),
    }
}

/// The figures of the process, and those of the queue, which are the database's. They tell of all tenants
/// together, so that they are for those of the install alone.
async fn figures(caller: Caller) -> Result<Response, Failure> {
    caller.may(Permission::InstancesRead)?;
    if !caller.is_of_the_install() {
        return Err(Failure::forbidden(
            "failed to show the figures: they are for the tenant of the install",
        ));
    }
    let shared = &caller.api.shared;
    let asked = shared.store.queue_depth(Scope::System);
    let now = caller.now();
    let queue = match timeout(PATIENCE, asked).await {
        Ok(Ok(depth)) => Some(Queue {
            queued: depth.queued,
            deferred: depth.deferred,
            delivered: depth.delivered,
            running: depth.running,
            oldest_queued: depth
                .oldest_queued
                .map_or(Duration::ZERO, |at| now.since(at)),
        }),
        // Whoever asks now asks because something is wrong, and the rest says what.
        Ok(Err(error)) => {
            tracing::warn!(error = error.chain(), "failed to count what waits");
            None
        }
        Err(_) => {
            tracing::warn!("failed to count what waits within {PATIENCE:?}");
            None
        }
    };
    let text = shared.metrics.encode(queue).map_err(|error| {
        tracing::error!(%error, "failed to write the figures");
        Failure::internal("failed to write the figures")
    })?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn unavailable(detail: impl Into<String>) -> Failure {
    Failure::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        detail,
    )
}
