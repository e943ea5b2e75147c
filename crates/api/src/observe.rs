//! What is seen of each request from outside: the pattern of its route, never its path, its query or its headers.

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;
use tracing::{Instrument as _, field};

use crate::Api;

/// What requests are counted under that no route matches: their paths are their senders' to choose.
const NO_ROUTE: &str = "none";

/// Counts and times a request, within a span of its own.
pub(crate) async fn request(State(api): State<Api>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let span = tracing::info_span!("request", %method, route, status = field::Empty);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("status", status);
    let metrics = &api.shared.metrics;
    metrics.answered(method.as_str(), route, status, began.elapsed());
    response
}
