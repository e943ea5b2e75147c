//! Routes for operators: liveness (`/healthz`), readiness (`/readyz`) and metrics (`/metrics`).
//!
//! They are beside `/api/v1`, at the paths where probes and scrapers expect them, and not part of the API document.

use std::time::Duration;

use api_types::ProblemKind;
use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use model::{Timestamp, access::Permission, limits};
use store::{Error, ListenerState, Scope, Store};
use telemetry::{ConnectionCounts, DatabaseClock, DatabaseMetrics, QueueMetrics};
use tokio::time::timeout;

use crate::{Api, caller::Caller, problem::ApiError};

/// The time limit of each read of the database. A probe must get an answer even if the database hangs.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The content type of the metrics (`OpenMetrics` 1.0).
const OPEN_METRICS_CONTENT_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the routes. `/healthz` and `/readyz` need no authentication, because their responses contain no data of a
/// tenant.
pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
}

/// Answers 200 if the server can answer requests and fire due triggers, else 503 with the reason.
async fn readiness(State(api): State<Api>) -> Result<&'static str, ApiError> {
    let shared = &api.shared;
    // 1. The worker loops.
    if !(shared.is_live)() {
        return Err(unavailable("not ready: a worker loop has ended"));
    }
    // 2. The clock. A server that does not know the time of the fleet fires nothing.
    if shared.has_worker_loops && shared.clock.uncertainty() > limits::MAX_CLOCK_UNCERTAINTY {
        return Err(unavailable(format!(
            "not ready: the database's clock is not known within {} s",
            limits::MAX_CLOCK_UNCERTAINTY.as_secs()
        )));
    }
    // 3. The database. Reading the row of the install's tenant is cheap, and fails if the database is a different
    // one.
    let query = shared.store.tenant(Scope::System, shared.tenant);
    match timeout(DATABASE_TIMEOUT, query).await {
        Ok(Ok(_)) => Ok("ok"),
        Ok(Err(error)) => {
            tracing::warn!(
                error = error.chain(),
                "the server is not ready: the database does not answer"
            );
            Err(unavailable("not ready: the database does not answer"))
        }
        Err(_) => Err(unavailable(format!(
            "not ready: the database has not answered within {} s",
            DATABASE_TIMEOUT.as_secs()
        ))),
    }
}

/// Returns the metrics of the process, and those of the queue and of the database. They cover all tenants together,
/// so that only callers of the install's own tenant may read them.
///
/// # Errors
///
/// Returns 403 for callers of other tenants, and for callers without the permission `instances:read`.
async fn metrics(caller: Caller) -> Result<Response, ApiError> {
    caller.authorize(Permission::InstancesRead)?;
    if !caller.is_in_install_tenant() {
        return Err(ApiError::forbidden(
            "the metrics are only for the tenant of the install",
        ));
    }
    let shared = &caller.api.shared;
    let now = caller.now();
    let (queue, fleet) = tokio::join!(
        queue_metrics(&caller.api, now),
        database_metrics(&caller.api, now)
    );
    let text = shared
        .metrics
        .encode_with_database(queue, fleet)
        .map_err(|error| {
            tracing::error!(%error, "cannot encode the metrics");
            ApiError::internal("cannot encode the metrics")
        })?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS_CONTENT_TYPE)], text).into_response())
}

/// Counts the runs that have not ended. Returns `None` if the database does not answer in time.
async fn queue_metrics(api: &Api, now: Timestamp) -> Option<QueueMetrics> {
    let query = api.shared.store.queue_depth(Scope::System);
    let depth = query_with_timeout("count the runs that have not ended", query).await?;
    Some(QueueMetrics {
        queued: depth.queued,
        deferred: depth.deferred,
        delivered: depth.delivered,
        running: depth.running,
        oldest_queued: depth
            .oldest_queued
            .map_or(Duration::ZERO, |at| now.since(at)),
    })
}

/// Returns the metrics of a shared database: nothing on SQLite, and those that PostgreSQL returns in time.
async fn database_metrics(api: &Api, now: Timestamp) -> DatabaseMetrics {
    let shared = &api.shared;
    let Some(connections) = shared.store.pool_size() else {
        return DatabaseMetrics::default();
    };
    let query = shared.store.vacuum_status();
    let vacuum = query_with_timeout("read the vacuum status of the database", query).await;
    let vacuum = vacuum.flatten();
    let (oldest, tables) = vacuum.map_or((None, Vec::new()), |it| {
        // Without an open transaction the age is zero.
        let oldest = it.oldest_transaction.unwrap_or(now);
        (Some(now.since(oldest)), it.tables)
    });
    DatabaseMetrics {
        clock: Some(clock_metrics(api)),
        is_listening: is_listening(&shared.store),
        connections: Some(ConnectionCounts {
            in_use: connections.in_use,
            idle: connections.idle,
        }),
        oldest_transaction: oldest,
        dead_rows: tables.into_iter().map(|it| (it.table, it.dead)).collect(),
    }
}

/// `true` if this process listens for notifications of other processes, `false` if it polls. `None` while no task
/// waits for changes, and on SQLite, which has no notifications.
fn is_listening(store: &Store) -> Option<bool> {
    match store.listener_state() {
        ListenerState::Listening => Some(true),
        ListenerState::Polling { .. } => Some(false),
        ListenerState::Idle | ListenerState::PollingFile => None,
    }
}

/// Returns the state of the clock that all servers of the database share.
fn clock_metrics(api: &Api) -> DatabaseClock {
    const MICROS_PER_SECOND: f64 = 1e6;
    let clock = &api.shared.clock;
    let uncertainty = clock.uncertainty();
    #[expect(clippy::cast_precision_loss, reason = "a metric in seconds")]
    let machine_lead_seconds = clock
        .machine_clock_lead_micros()
        .map(|micros| micros as f64 / MICROS_PER_SECOND);
    DatabaseClock {
        is_accurate: uncertainty <= limits::MAX_CLOCK_UNCERTAINTY,
        machine_lead_seconds,
        uncertainty: Some(uncertainty).filter(|it| *it < Duration::MAX),
    }
}

/// Waits for a result of the database for [`DATABASE_TIMEOUT`]. Logs an error or a timeout and returns `None`, so that
/// the other metrics are still returned: an operator often reads metrics because something fails, and the other
/// metrics may show the cause.
async fn query_with_timeout<T>(
    action: &str,
    query: impl Future<Output = Result<T, Error>>,
) -> Option<T> {
    match timeout(DATABASE_TIMEOUT, query).await {
        Ok(Ok(result)) => Some(result),
        Ok(Err(error)) => {
            tracing::warn!(error = error.chain(), "cannot {action}");
            None
        }
        Err(_) => {
            tracing::warn!("cannot {action} within {DATABASE_TIMEOUT:?}");
            None
        }
    }
}

/// Returns the error (503) for a server that is not ready.
fn unavailable(detail: impl Into<String>) -> ApiError {
    ApiError::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        detail,
    )
}
