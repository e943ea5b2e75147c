//! Metrics and spans of requests.
//!
//! **Invariant:** they contain the method, the pattern of the route and the status, but never the path, the query or
//! the headers, which may contain secrets and IDs.

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;
use tracing::{Instrument as _, field};

use crate::Api;

/// The route in the metrics of requests that match none. Clients choose such paths: a label for each would make the
/// metrics grow without a bound.
const UNMATCHED_ROUTE: &str = "none";

/// Counts and times a request, and runs it in a span of its own.
pub(crate) async fn record_request(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched
        .as_ref()
        .map_or(UNMATCHED_ROUTE, MatchedPath::as_str);
    let span = tracing::info_span!("request", %method, route, status = field::Empty);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("status", status);
    let metrics = &api.shared.metrics;
    metrics.record_response(method.as_str(), route, status, began.elapsed());
    response
}
