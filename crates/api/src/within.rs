//! How long a request may take.

use std::time::Duration;

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use tokio::time::timeout;
use wire::ProblemKind;

use crate::{Api, extract, problem::Failure};

/// The routes whose requests may start an agent, to see what it offers. That has time limits of its own, which
/// its harness tells.
const MAY_START_AN_AGENT: [&str; 4] = [
    "/api/v1/harnesses/{harness}/check",
    "/api/v1/sessions",
    "/api/v1/automations",
    "/api/v1/automations/{automation}",
];
/// How long such a request may take at the most.
const AGENTS_PATIENCE: Duration = Duration::from_mins(10);

/// Answers what takes too long, and gives up on it: a transition is done whole or not at all. The bodies of
/// streams are not meant, they begin in time and go on.
pub(crate) async fn the_time(State(api): State<Api>, request: Request, next: Next) -> Response {
    let limit = api.shared.patience;
    let route = request.extensions().get::<MatchedPath>();
    if route.is_some_and(|route| MAY_START_AN_AGENT.contains(&route.as_str())) {
        // What it sends has to be there in time all the same.
        let Ok(whole) = timeout(limit, with_body(request)).await else {
            return too_late(limit);
        };
        return match whole {
            Ok(request) => in_time(AGENTS_PATIENCE, next.run(request)).await,
            Err(failure) => failure.into_response(),
        };
    }
    in_time(limit, next.run(request)).await
}

/// A request whose body is there.
async fn with_body(request: Request) -> Result<Request, Failure> {
    let (parts, body) = request.into_parts();
    let bytes = extract::body(Request::from_parts(parts.clone(), body)).await?;
    Ok(Request::from_parts(parts, bytes.into()))
}

async fn in_time(limit: Duration, response: impl Future<Output = Response>) -> Response {
    let response = timeout(limit, response).await;
    response.unwrap_or_else(|_| too_late(limit))
}

fn too_late(limit: Duration) -> Response {
    Failure::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        format!("failed to answer within {} s", limit.as_secs()),
    )
    .into_response()
}
