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
use model::{Timestamp, access::Permission, limits};
use store::{Error, ListenerState, Scope, Store};
use telemetry::{Connections, Fleet, Queue, SharedClock};
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
    if shared.serves && shared.clock.uncertainty() > limits::CLOCK_UNCERTAINTY {
        return Err(unavailable(format!(
            "failed to be ready: the database's clock is not known within {} s",
            limits::CLOCK_UNCERTAINTY.as_secs()
        )));
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
    let now = caller.now();
    let (queue, fleet) = tokio::join!(queue(&caller.api, now), fleet(&caller.api, now));
    let text = shared
        .metrics
        .encode_in_fleet(queue, fleet)
        .map_err(|error| {
            tracing::error!(%error, "failed to write the figures");
            Failure::internal("failed to write the figures")
        })?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

/// What waits, as far as the database says it in time.
async fn queue(api: &Api, now: Timestamp) -> Option<Queue> {
    let asked = api.shared.store.queue_depth(Scope::System);
    let depth = in_time("count what waits", asked).await?;
    Some(Queue {
        queued: depth.queued,
        deferred: depth.deferred,
        delivered: depth.delivered,
        running: depth.running,
        oldest_queued: depth
            .oldest_queued
            .map_or(Duration::ZERO, |at| now.since(at)),
    })
}

/// What is known of a database that others may share: nothing on SQLite, and as much as it says in time.
async fn fleet(api: &Api, now: Timestamp) -> Fleet {
    let shared = &api.shared;
    let Some(connections) = shared.store.connections() else {
        return Fleet::default();
    };
    let asked = shared.store.upkeep();
    let upkeep = in_time("ask how the database cleans up", asked).await;
    let upkeep = upkeep.flatten();
    let (oldest, tables) = upkeep.map_or((None, Vec::new()), |it| {
        // Without any there is none that is old.
        let oldest = it.oldest_transaction.unwrap_or(now);
        (Some(now.since(oldest)), it.tables)
    });
    Fleet {
        clock: Some(clock(api)),
        listening: listening(&shared.store),
        connections: Some(Connections {
            in_use: connections.in_use,
            idle: connections.idle,
        }),
        oldest_transaction: oldest,
        dead_rows: tables.into_iter().map(|it| (it.table, it.dead)).collect(),
    }
}

/// Whether it hears of others; absent where nothing waits for changes.
fn listening(store: &Store) -> Option<bool> {
    match store.listening() {
        ListenerState::Listening => Some(true),
        ListenerState::Polling { .. } => Some(false),
        ListenerState::Idle | ListenerState::Looking => None,
    }
}

fn clock(api: &Api) -> SharedClock {
    const SECOND: f64 = 1e6;
    let clock = &api.shared.clock;
    let uncertainty = clock.uncertainty();
    #[expect(clippy::cast_precision_loss, reason = "a figure in seconds")]
    let own_ahead = clock
        .own_ahead_micros()
        .map(|micros| micros as f64 / SECOND);
    SharedClock {
        known: uncertainty <= limits::CLOCK_UNCERTAINTY,
        own_ahead,
        uncertainty: Some(uncertainty).filter(|it| *it < Duration::MAX),
    }
}

/// What the database answers in time. Whoever asks for figures now asks because something is wrong, and the
/// rest says what.
async fn in_time<T>(what: &str, asked: impl Future<Output = Result<T, Error>>) -> Option<T> {
    match timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(error = error.chain(), "failed to {what}");
            None
        }
        Err(_) => {
            tracing::warn!("failed to {what} within {PATIENCE:?}");
            None
        }
    }
}

fn unavailable(detail: impl Into<String>) -> Failure {
    Failure::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        detail,
    )
}
